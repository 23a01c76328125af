// Light and dark, the menu of small screens, copy buttons, and the search, for which search.html loads lunr.js. No server.
"use strict";

const kept = (() => { try { return localStorage; } catch { return {}; } })(); // a file may have no storage
const root = document.documentElement;
root.classList.toggle("dark", kept.theme ? kept.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

const make = (name, properties) => Object.assign(document.createElement(name), properties);

function copyButtons() {
    for (const box of document.querySelectorAll(".listing, .code")) {
        const code = box.querySelector("code"), label = box.firstElementChild.getAttribute("aria-label");
        const button = make("button", { className: "copy", textContent: "Copy", ariaLabel: `Copy ${label}` });
        button.onclick = async () => { // of a session only the commands, without the prompt
            const commands = code.textContent.match(/(?<=^ *\$ )(?:.*\\\n)*.*/gm), text = commands ? commands.join("\n") : code.textContent;
            try {
                await navigator.clipboard.writeText(text);
            } catch { // without a server some browsers refuse: the text is selected then
                getSelection().selectAllChildren(code);
                document.execCommand("copy");
            }
            button.textContent = "Copied";
            setTimeout(() => { button.textContent = "Copy"; }, 1500);
        };
        box.append(button);
    }
}

// A word as docs/pages/search.py writes it into the index: its stem, of -ise as of -ize.
let index;
function stem(word) {
    const token = new lunr.Token(word.replace(/is(?=(e[sdr]?|ing|ations?)$)/, "iz"));
    return lunr.stopWordFilter(token) ? lunr.stemmer(token).toString().replace(/y$/, "i") : "";
}

// A pattern for how the words of a stem begin.
const beginning = one => one.replace(/[.]/g, "\\$&").replace(/iz?$/, "");

// The sections that have all words, or else any of them. The whole of a name of code counts more than its parts.
function find(query) {
    const plain = query.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
    const parts = plain.match(/\d+(?:\.\d+)+|[\p{L}\p{N}]+/gu) || [];
    const stems = [...new Set(parts.map(stem))].filter(Boolean), names = (plain.match(/[\p{L}\p{N}]\S*[\p{L}\p{N}]/gu) || []).map(stem);
    const asked = presence => index.query(q => {
        const options = { usePipeline: false, presence };
        for (const one of stems) {
            q.term(one, { ...options, wildcard: one.length < 3 ? lunr.Query.wildcard.NONE : lunr.Query.wildcard.TRAILING });
            q.term(one, { usePipeline: false, boost: 10 });
        }
        for (const one of names.filter(name => name && !stems.includes(name))) q.term(one, { usePipeline: false, boost: 30 });
    });
    const all = stems.length ? asked(lunr.Query.presence.REQUIRED) : [];
    const found = all.length || stems.length < 2 ? all : asked(lunr.Query.presence.OPTIONAL);
    const phrase = new RegExp(stems.map(beginning).join("[\\p{L}]*[^\\p{L}\\p{N}]+"), "iu");
    const score = one => one.score * (stems.length > 1 && searchSections[one.ref].some(text => phrase.test(text)) ? 4 : 1);
    return { stems, all: all.length > 0, sections: found.sort((a, b) => score(b) - score(a)).map(one => searchSections[one.ref]) };
}

// The text around the first of the words, which are marked.
function context(text, stems) {
    const words = new RegExp(`(?<![\\p{L}\\p{N}])((?:${stems.map(beginning).join("|")})[\\p{L}\\p{N}]*)`, "iu");
    const at = text.search(words), begin = at < 60 ? 0 : text.indexOf(" ", at - 60) + 1;
    const end = text.length > begin + 220 ? text.lastIndexOf(" ", begin + 220) : text.length;
    const line = make("div"), shown = (begin ? "… " : "") + text.slice(begin, end) + (end < text.length ? " …" : "");
    line.append(...shown.split(words).map((part, i) => i % 2 ? make("mark", { textContent: part }) : part));
    return line;
}

function show(query) {
    const { stems, all, sections } = find(query), most = 50;
    const some = `${sections.length} ${sections.length === 1 ? "place" : "places"} for “${query.trim()}”`;
    document.getElementById("search-count").textContent = !query.trim() ? "Type words into the search field." : !sections.length ?
        `Nothing found for “${query.trim()}”.` : `${all ? "" : "No place has all the words. "}${some}${sections.length > most ? `, the first ${most}` : ""}:`;
    document.getElementById("search-results").replaceChildren(...sections.slice(0, most).map(([address, title, heading, text]) => {
        const item = make("li");
        item.append(make("a", { href: address, textContent: title + (heading ? ` › ${heading}` : "") }), context(text, stems));
        return item;
    }));
}

function search() {
    if (typeof searchIndex === "undefined") return;
    index = lunr.Index.load(searchIndex);
    const input = document.getElementById("search");
    input.value = new URLSearchParams(location.search).get("q") || "";
    input.oninput = () => show(input.value);
    show(input.value);
    input.focus();
}

document.addEventListener("DOMContentLoaded", () => {
    const menu = document.getElementById("menu"), here = menu.querySelector("[aria-current]"), themeButton = document.getElementById("theme-button");
    menu.onclick = event => event.target.closest("a") && menu.hidePopover(); // the link may lead to a place of the page that is open
    if (here) menu.scrollTop = here.offsetTop - menu.clientHeight / 2;
    themeButton.hidden = false;
    themeButton.ariaPressed = root.classList.contains("dark");
    themeButton.onclick = () => {
        themeButton.ariaPressed = root.classList.toggle("dark");
        kept.theme = root.classList.contains("dark") ? "dark" : "light";
    };
    if (innerWidth < 1000) document.querySelector(".contents details")?.removeAttribute("open");
    copyButtons();
    search();
});
