// What the tests of the live part ask of a notebook's page.
window.live = {
    rooms: () => [...document.querySelectorAll(".jp-OutputArea :is(.gradviz-room, .gv-room)")],
    /** The table is written when it is unfolded: so it is, and folded again. */
    async seen(room) {
        const details = room?.querySelector("details.gv-table");
        if (!details) return null;
        if (!details.open) {
            const unfolded = new Promise(resolve => details.addEventListener("toggle", resolve, {once: true}));
            details.open = true;
            await unfolded;
            const found = await live.seen(room);
            details.open = false;
            return found;
        }
        // How lines break, and in which order things are drawn, is the arrangement's.
        const text = group => [...group.querySelectorAll("text")].map(t => t.textContent).join("").replace(/\s/g, "");
        const cell = td => [...td.childNodes].filter(n => !n.classList?.contains("gv-sign")).map(n => n.textContent);
        const all = (selector, of) => [...room.querySelectorAll(selector)].map(of);
        return {
            cards: all(".gv-canvas .gv-node", text).sort(),
            arrows: all(".gv-canvas .gv-edge", group => text(group).replace(/^✂.+$/, "✂")).sort(),
            table: all("tbody tr", tr => [...tr.cells].map(td => cell(td).join(""))),
            said: room.querySelector(".gv-said")?.title || room.querySelector(".gv-said")?.textContent,
            error: room.querySelector(".gv-error")?.textContent,
        };
    },
    same: (a, b) => JSON.stringify(a) === JSON.stringify(b),
    idle: () => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === "idle",
    async python(code) {
        const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
        const future = kernel.requestExecute({code, store_history: false}, false);
        let said = "";
        future.onIOPub = ({content}) => { said += content.text ?? content.evalue ?? ""; };
        await future.done;
        return said.trim();
    },
    /** Clicks at speed: [selector, "click" or a value, ms to wait]. */
    rapid: async ([room, clicks]) => {
        for (const [selector, what, pause] of clicks) {
            const element = live.rooms()[room].querySelector(selector);
            if (what === "click") element.click();
            else {
                element.value = what;
                for (const name of ["input", "change"]) element.dispatchEvent(new Event(name, {bubbles: true}));
            }
            if (pause) await new Promise(resolve => setTimeout(resolve, pause));
        }
    },
    /** Titles of the lit and of the dimmed cards. */
    lit: i => {
        const all = [...live.rooms()[i].querySelectorAll(".gv-node")];
        const titles = name => all.filter(g => g.classList.contains(name)).map(g => g.querySelector("text").textContent);
        return [titles("gv-lit").sort(), titles("gv-dim").sort()];
    },
    /** Where the parts of a panel stand, and what is cut off. */
    boxes: async i => {
        const room = live.rooms()[i];
        const layout = () => JSON.stringify([...room.querySelectorAll(".gv-area, .gv-line")].map(e => e.getBoundingClientRect()));
        for (let before = "", same = 0; same < 4;) { // what follows a change of size comes frames later
            await new Promise(requestAnimationFrame);
            same = layout() === before ? same + 1 : 0;
            before = layout();
        }
        const box = ({left, top, right, bottom}) => ({left, top, right, bottom});
        const of = name => box(room.querySelector(`.gv-${name}`).getBoundingClientRect());
        const names = ["code", "sentence", "view", "table", "toolbar"];
        const said = [...room.querySelectorAll(".gv-control :is(button, label), .gv-controls button, summary, "
            + ".gv-tool, .gv-said, .gv-changes, .gv-line")];
        return {
            ...Object.fromEntries(names.map(name => [name, of(name)])),
            room: box(room.getBoundingClientRect()),
            window: box(room.closest(".jp-WindowedPanel-outer").getBoundingClientRect()),
            cut: said.filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth).map(e => e.textContent),
            line: [...room.querySelectorAll(".gv-now, .gv-here")].map(e => box(e.getBoundingClientRect())),
            hidden: room.querySelector(".gv-view").dataset.more,
            folded: !room.querySelector("details").open,
        };
    },
};
