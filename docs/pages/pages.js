// Light and dark, the menu of small screens, copy buttons, and the search. No library, no server.
"use strict";

const kept = {
    get(name) { try { return localStorage.getItem(name); } catch { return null; } },
    set(name, value) { try { localStorage.setItem(name, value); } catch { /* a file may have no storage */ } },
};

const dark = kept.get("theme") ? kept.get("theme") === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.classList.add("js");
document.documentElement.classList.toggle("dark", dark);

function copyButtons() {
    for (const box of document.querySelectorAll(".listing, .code")) {
        const button = document.createElement("button");
        button.className = "copy";
        button.textContent = "Copy";
        button.setAttribute("aria-label", `Copy ${box.firstElementChild.getAttribute("aria-label") || "the code"}`);
        button.onclick = async () => {
            const text = box.querySelector("code").textContent;
            try {
                await navigator.clipboard.writeText(text);
            } catch { // without a server some browsers refuse: the text is selected then
                getSelection().selectAllChildren(box.querySelector("code"));
                document.execCommand("copy");
            }
            button.textContent = "Copied";
            setTimeout(() => { button.textContent = "Copy"; }, 1500);
        };
        box.append(button);
    }
}

// What is found: sections in which each word begins a word of the text or of a title. Titles count more.
function find(words) {
    const patterns = words.map(word => new RegExp(`(?<![\\p{L}\\p{N}])${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`, "giu"));
    const found = [];
    for (const [page, anchor, title, section, text] of searchIndex) {
        let score = 0;
        for (const pattern of patterns) {
            const inTitle = (title.match(pattern) || []).length, inSection = (section.match(pattern) || []).length;
            const inText = (text.match(pattern) || []).length;
            if (!inTitle && !inSection && !inText) { score = 0; break; }
            score += 8 * Math.min(inTitle, 1) + 6 * Math.min(inSection, 1) + Math.min(inText, 4);
        }
        if (!score) continue;
        const all = words.join(" "), name = section.toLowerCase(), rung = title.toLowerCase().startsWith(`${all}:`);
        const phrase = name === all || (rung && /^(what-changed)?$/.test(anchor)) ? 30 : name.includes(all) || text.toLowerCase().includes(all) ? 10 : 0;
        const kind = /^(lab_|kernels|lessons|start|index)/.test(page) ? 4 : /^(file_|api_)/.test(page) ? -4 : 0;
        found.push({ page, anchor, title, section, text, score: score + phrase + kind, patterns });
    }
    return found.sort((a, b) => b.score - a.score);
}

// The text around the first place where the most of the words stand close together.
function context({ text, patterns }) {
    const places = patterns.flatMap((pattern, word) => [...text.matchAll(pattern)].map(match => ({ at: match.index, word })));
    places.sort((a, b) => a.at - b.at);
    const near = ({ at }) => {
        const within = places.filter(other => other.at >= at && other.at < at + 150);
        return 10 * new Set(within.map(other => other.word)).size + within.length;
    };
    const best = places.length ? places.reduce((one, other) => (near(other) > near(one) ? other : one)).at : 0;
    const begin = best < 60 ? 0 : text.indexOf(" ", best - 60) + 1;
    const line = document.createElement("div");
    const end = text.length > begin + 220 ? text.lastIndexOf(" ", begin + 220) : text.length;
    const rest = (begin ? "… " : "") + text.slice(begin, end) + (end < text.length ? " …" : "");
    const any = new RegExp(patterns.map(pattern => pattern.source + "[\\p{L}\\p{N}]*").join("|"), "giu");
    let last = 0;
    for (const match of rest.matchAll(any)) {
        line.append(rest.slice(last, match.index));
        const mark = document.createElement("mark");
        mark.textContent = match[0];
        line.append(mark);
        last = match.index + match[0].length;
    }
    line.append(rest.slice(last));
    return line;
}

function show(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean), list = document.getElementById("search-results");
    const count = document.getElementById("search-count"), most = 50;
    list.replaceChildren();
    if (!words.length) {
        count.textContent = "Type words into the search field; all of them are looked for.";
        return;
    }
    const found = find(words);
    count.textContent = found.length === 0 ? `Nothing has all of: ${words.join(", ")}` :
        `${found.length} ${found.length === 1 ? "place" : "places"} for “${query.trim()}”` + (found.length > most ? `, the first ${most}:` : ":");
    for (const one of found.slice(0, most)) {
        const item = document.createElement("li"), link = document.createElement("a");
        link.href = one.page + (one.anchor ? `#${one.anchor}` : "");
        link.textContent = one.title + (one.section ? ` › ${one.section}` : "");
        item.append(link, context(one));
        list.append(item);
    }
}

function search() {
    const input = document.getElementById("search");
    if (!document.getElementById("search-results")) return;
    const script = document.createElement("script");
    script.src = "search-index.js"; // only here: it is large
    script.onload = () => {
        input.value = new URLSearchParams(location.search).get("q") || "";
        input.oninput = () => show(input.value);
        show(input.value);
    };
    document.head.append(script);
    input.focus();
}

document.addEventListener("DOMContentLoaded", () => {
    const menu = document.getElementById("menu"), menuButton = document.getElementById("menu-button");
    menuButton.onclick = () => menuButton.setAttribute("aria-expanded", menu.classList.toggle("open"));
    document.addEventListener("keydown", event => {
        if (event.key === "Escape" && menu.classList.contains("open")) {
            menuButton.click();
            menuButton.focus();
        }
    });
    const here = menu.querySelector("[aria-current]");
    if (here) menu.scrollTop = Math.max(0, here.offsetTop - menu.clientHeight / 2);

    const themeButton = document.getElementById("theme-button");
    themeButton.setAttribute("aria-pressed", dark);
    themeButton.onclick = () => {
        const now = document.documentElement.classList.toggle("dark");
        themeButton.setAttribute("aria-pressed", now);
        kept.set("theme", now ? "dark" : "light");
    };
    if (innerWidth < 1000) document.querySelector(".contents details")?.removeAttribute("open");
    copyButtons();
    search();
});
