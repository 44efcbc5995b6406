// A recorder of what a panel says, and a widget's model, its control and their kernel, which answers when it is told to.
window.fake = {
    /** `states`: what the kernel draws, by the control's value. */
    make(states) {
        const listeners = () => {
            const all = [];
            return {
                on: (name, call) => all.push([name, call]),
                off: (name, call) => all.splice(0, all.length, ...all.filter(([n, c]) => n !== name || c !== call)),
                fire: (name, ...given) => all.filter(([n]) => n === name).forEach(([, call]) => call(...given)),
            };
        };
        const model = (traits) => {
            const heard = listeners();
            const set = (name, value) => { traits[name] = value; heard.fire(`change:${name}`, made, value); };
            const made = {...heard, set, get: name => traits[name], save_changes() {}, constructor: {}};
            return made;
        };
        const first = Object.keys(states)[0];
        const control = model({value: first});
        const of = value => ({state: JSON.stringify(states[value]), drawn_for: [["control", "value", value]]});
        const picture = model({selected: "", step: 0, code: {}, book: {}, ...of(first)});
        const kernel = {id: "k", status: "idle", connectionStatus: "connected", isDisposed: false};
        kernel.statusChanged = {connect() {}, disconnect() {}};
        picture.widget_manager = {kernel, get_model: async () => control};
        const made = {
            control, picture, busy: false, asked: 0,
            /** The state for this value comes, as the traits of one message do. */
            answer(value) {
                for (const [name, trait] of Object.entries(of(value))) picture.set(name, trait);
            },
            choose(value) { control.set("value", value); },
        };
        picture.send = ({ask}) => {
            made.asked += 1;
            if (!made.silent) setTimeout(() => picture.fire("msg:custom", {answer: ask, busy: made.busy}), 20);
        };
        return made;
    },
    /** Notes when the notice comes and goes, and when a picture is drawn: [what, ms since the start]. */
    watch(el) {
        const log = [];
        const [notice, said] = [el.querySelector(".gv-notice"), el.querySelector(".gv-said")];
        let shown = !notice.hidden;
        new MutationObserver(changes => {
            if (changes.some(({type, target}) => type !== "attributes" && said.contains(target))) log.push(["drawn", performance.now()]);
            if (notice.hidden === !shown) return;
            shown = !notice.hidden;
            log.push([shown ? "notice" : "gone", performance.now()]);
        }).observe(el, {subtree: true, attributes: true, childList: true, characterData: true});
        return log;
    },
};
