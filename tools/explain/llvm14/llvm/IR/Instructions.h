// What counts.cpp uses of LLVM 14, which is the LLVM of Oclgrind 21.10: its classes as they lie in memory there, on a machine of
// 64 bits. LLVM's own headers take a package of some hundred MB, and the library of Oclgrind that PyPI has comes without them.
// Functions that are only declared here are in the library.
#pragma once
#include <cstdint>

#include "../ADT/StringRef.h"

namespace llvm {

class Type {
public:
    bool isPointerTy() const { return id_ == 15; }
    unsigned getPointerAddressSpace() const { return data_; }

private:
    void* context_;
    unsigned id_ : 8, data_ : 24;
};

class Value {
public:
    const Type* getType() const { return type_; }
    unsigned kind() const { return kind_; }
    StringRef getName() const;

protected:
    struct Use {
        Value* value;
        void* others[3];
    };
    unsigned operands() const { return operands_; }
    Value* operand(unsigned k) const { // they lie in front of the object, or in an array to which a pointer there leads
        const auto* first =
            elsewhere_ ? reinterpret_cast<const Use* const*>(this)[-1] : reinterpret_cast<const Use*>(this) - operands_;
        return first[k].value;
    }

private:
    const Type* type_;
    void* uses_;
    std::uint8_t kind_, flags_;
    std::uint16_t data_;
    unsigned operands_ : 27, others_ : 3, elsewhere_ : 1, descriptor_ : 1;
};

class Argument : public Value {
public:
    static bool classof(const Value* v) { return v->kind() == 20; }
    unsigned getArgNo() const { return number_; }

private:
    void* parent_;
    unsigned number_;
};

/// The links of a list. The list itself is one: its last element's next, and its first element's previous.
struct Node {
    Node *previous, *next;
};

/// A list of things that have a Node behind their Value.
template <typename T>
class List {
public:
    class Iterator {
    public:
        explicit Iterator(const Node* at) : at_(at) {}
        const T& operator*() const {
            return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(at_) - sizeof(Value));
        }
        Iterator& operator++() {
            at_ = at_->next;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return at_ != other.at_; }

    private:
        const Node* at_;
    };
    Iterator begin() const { return Iterator(self_.next); }
    Iterator end() const { return Iterator(&self_); }

private:
    Node self_;
};

/// A node of metadata, with its operands in front of it.
class DIScope {
public:
    StringRef getFilename() const;
    const void* operand(int k) const { return reinterpret_cast<const void* const*>(this)[k - static_cast<int>(operands_)]; }
    bool is_file() const { return kind_ == 15; }

private:
    std::uint8_t kind_, storage_;
    std::uint16_t data_;
    unsigned data32_;
    unsigned operands_, unresolved_;
    void* context_;
};

class MDString {
public:
    StringRef getString() const;
};

/// The name is the first operand of a file, and the file that of all other scopes.
inline StringRef DIScope::getFilename() const {
    const auto* file = is_file() ? this : static_cast<const DIScope*>(operand(0));
    const auto* name = file ? static_cast<const MDString*>(file->operand(0)) : nullptr;
    return name ? name->getString() : StringRef();
}

class DebugLoc {
public:
    explicit operator bool() const { return place_; }
    unsigned getLine() const;
    unsigned getCol() const;
    void* getScope() const;

private:
    void* place_;
};

class Function;

class Instruction : public Value {
public:
    bool isTerminator() const { return opcode() >= 1 && opcode() < 12; }
    unsigned opcode() const { return kind() - 27; }
    unsigned getNumSuccessors() const;
    const Function* getFunction() const;
    const DebugLoc& getDebugLoc() const { return place_; }

private:
    Node node_;
    void* block_;
    DebugLoc place_;
};

class BasicBlock : public Value {
public:
    List<Instruction>::Iterator begin() const { return instructions_.begin(); }
    List<Instruction>::Iterator end() const { return instructions_.end(); }

private:
    Node node_;
    List<Instruction> instructions_;
    void* function_;
};

class BranchInst : public Instruction {
public:
    static bool classof(const Value* v) { return v->kind() - 27 == 2; }
    bool isConditional() const { return operands() == 3; }
    const Value* getCondition() const { return operand(0); }
};

class SwitchInst : public Instruction {
public:
    static bool classof(const Value* v) { return v->kind() - 27 == 3; }
    const Value* getCondition() const { return operand(0); }
};

class CallInst : public Instruction {
public:
    static bool classof(const Value* v) { return v->kind() - 27 == 56; }
    const Value* getCalledOperand() const { return operand(operands() - 1); }
};

class Function : public Value {
public:
    List<BasicBlock>::Iterator begin() const { return blocks_.begin(); }
    List<BasicBlock>::Iterator end() const { return blocks_.end(); }

private:
    void* global_[6];
    List<BasicBlock> blocks_;
};

template <typename To, typename From>
const To* dyn_cast(const From* value) {
    return To::classof(value) ? static_cast<const To*>(value) : nullptr;
}

template <typename To>
const To* cast(void* value) {
    return static_cast<const To*>(value);
}

} // namespace llvm
