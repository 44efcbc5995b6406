// What Python sends and what the modules hand to each other. Fields have the names that Python gives them.

/** All that is shown at one moment: made by `state()` in Python. */
export interface State {
  /** The picture as SVG; empty where there is none, and then `problem` says why and `text` stands in its place. */
  svg: string;
  /** The same picture for a narrower place; left out where `svg` is narrow enough for all that are known. */
  narrow?: string;
  problem: string;
  alt: string;
  text: string;
  /** What happened, in words. */
  sentence: string;
  /** What of the sentence is code; left out where nothing is. */
  sentence_code?: Span[];
  error: string;
  printed: string;
  /** By id in the SVG, as "n3". */
  cards: Record<string, Card>;
  /** By id in the SVG, as "e3". */
  arrows: Record<string, Arrow>;
  table: Row[];
  /** The heads of the table where it lists groups of parameters; left out where it lists tensors. */
  columns?: string[];
  /** The lines of the code that a step stands on. */
  lines: number[];
  /** Ids of what a step of a player is about. */
  active?: string[];
  /** The controls' settings with which this was run. */
  settings?: string;
  /** The code with the choices filled in; left out where there is no source, and where nothing can be chosen. */
  code?: CodeLine[];
  /** Kind and words of each sign of the picture, which has no legend of its own then. */
  legend?: [kind: string, words: string][];
  /** What is told under the legend. */
  notes?: string[];
  /** Nothing is to be marked as changed. */
  afresh?: boolean;
  /** What of an outline is open, and what can be gone to; null where nothing can be opened. */
  outline?: Outline | null;
  /** What an explanation points at in an outline; null where nothing is. */
  points?: Points | null;
}

/** Letters of a text: the first, and the one after the last. */
export type Span = [start: number, end: number];

/** A text, and what of it is code. */
export interface Told {
  text: string;
  code: Span[];
}

/** The row of an explanation that says where, and ids of cards and arrows. */
export interface Points {
  title: string;
  text: string;
  ids: string[];
}

/** Modules have their whole names, "model.transformer.h.5"; cards have their ids in the SVG. */
export interface Outline {
  /** What the reader opened, the newest last, each behind those around it. */
  opened: string[];
  /** For each module that is open the way to it, from its root: label and name of each step. */
  crumbs: [label: string, name: string][][];
  /** The cards of what ran inside each of `opened`. */
  inside: Record<string, string[]>;
  /** What opens the cards that tell of a lost gradient, or that something else is wrong. */
  red: string[];
  /** These cards themselves, from top to bottom. */
  alarms: string[];
  /**
   * For each module and parameter the card that contains it, and what must be opened before it has its own; or "". A
   * third part says that a parameter gets a card of its own where it is opened itself.
   */
  names: Record<string, [cardId: string, closed: string, leaf?: string]>;
}

/** A card or an arrow is the same one in two states if its `key` is; it has changed if its `look` has. */
export interface Arrow {
  key: string;
  look: string;
}

export interface Card extends Arrow {
  /** Label and value of each thing that is known of it. */
  facts: [string, string][];
  /** Its line of the code. */
  line: number | null;
  /** Ids of the cards and arrows that a gradient from it meets. */
  lit: string[];
  /** Ids of the cards that share its memory, itself among them; empty where it shares none. */
  memory: string[];
  /** The module that opens it, or "". */
  opens?: string;
  /** Of several equal modules all that open, the first of them by a click; left out elsewhere. */
  members?: string[];
  /** What stands on it in signs, and the words for it; left out where nothing does. */
  spoken?: [string, string][];
}

/** A tensor in the table. `cells` stand in the order of `COLUMNS`; `card` is the id of its card, or "". */
export interface Row {
  key: string;
  card: string;
  cells: Cell[];
  /** How far it stands below the line of its group's reason; left out in a table of tensors. */
  level?: number;
  /** The whole name of the only parameter that it is of; left out elsewhere. */
  parameter?: string;
}

export type Cell = string | number | boolean | null;

/**
 * A line of code: what of its text was filled in, and for which control; "gone" where the line does nothing now, "dead"
 * in a branch that is not taken.
 */
export type CodeLine = [
  number: number, text: string, filled: [start: number, end: number, control: string][], kind: string, control: string,
];

/** Source code above the picture, and the number of its first line. */
export interface Code {
  /** The most letters that each line has in any state. */
  columns?: Record<string, number>;
  /** What its author asks of the reader before the first click. */
  task?: Told;
  text?: string;
  first?: number;
  file?: string;
}

/** Precomputed states and the controls that choose among them; the last control varies fastest. */
export interface Book {
  title: string;
  code: Code;
  controls: Control[];
  states: State[];
  /** Of an outline: which state has these modules open, by their names, one a line. */
  openings?: Record<string, number>;
  /** What is asked, where the page is a question; it then has one state. */
  question?: Question;
  /** Sentences in another language. */
  words?: Partial<Words>;
}

export interface Question {
  /** What is asked. */
  text: string;
  /** What of that is code. */
  text_code?: Span[];
  /** What was chosen and the code does not say. */
  settings: string;
  answers: string[];
  /** What is said to each answer, with the card that lights up, or ""; the last to whoever just looks. */
  replies: { sentence: string; sentence_code?: Span[]; card: string }[];
  /** The place of the right answer; null where none is. */
  right: number | null;
}

export type ControlKind = "buttons" | "dropdown" | "checkbox" | "slider" | "counter" | "steps";

export interface Control {
  name: string;
  label: string;
  kind: ControlKind;
  options: string[];
  /** The option that is chosen at first. */
  start?: number;
  /** The line of the code at which it stands; without one it stands above the code. */
  line?: number;
  /** Of a counter: whether any count can be asked for. */
  endless?: boolean;
}

/** A book as the widget's trait holds it: deflated JSON, or nothing. */
export type BookTrait = Partial<Book> & { packed?: BufferSource };

/** A control's model, its trait, and the trait's value that a state was made with, where it can be compared. */
export type DrawnFor = [modelId: string, trait: string, value?: unknown];

/** Every sentence of the front end, by its name. */
export type Words = Record<keyof typeof import("./english.js").ENGLISH, string>;

// ---- of Jupyter

type Listener = (...given: any[]) => void;

/** The page's side of a widget, ours or a control's: anywidget's, with what it hands through of ipywidgets'. */
export interface Model {
  get(trait: string): any;
  set(trait: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown, callbacks?: unknown): void;
  on(event: string, listener: Listener): void;
  off(event: string, listener: Listener): void;
  comm_live?: boolean;
  widget_manager?: WidgetManager;
  constructor: { serializers?: Record<string, { serialize?(value: unknown, model: Model): unknown }> } | Function;
}

export interface WidgetManager {
  get_model(modelId: string): Promise<Model>;
  /** JupyterLab and Notebook 7 have it. */
  kernel?: Kernel | null;
}

export interface Kernel {
  id: string;
  status: string;
  connectionStatus?: string;
  isDisposed: boolean;
  statusChanged?: { connect(listener: Listener): void; disconnect(listener: Listener): void };
}

// ---- between the modules

/** A rectangle in the picture's own numbers. */
export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** "new" or "changed", by the id of a card or an arrow. */
export type Marks = Map<string, "new" | "changed">;

/** What is different in a state: what to mark in the picture and in the table, and each change in words. */
export interface Changes {
  marks: Marks;
  /** The text before, by "row key/column"; "" for a new row. */
  cells: Map<string, string>;
  /** The weightiest first. */
  texts: Told[];
  /** Which gradient is what it was, in words; null where none is. */
  kept: Told | null;
  /** Whether there was something to compare it with. */
  isCompared: boolean;
}

/** Why what is shown may not be trusted. */
export type NoticeKind = "waiting" | "unconnected" | "gone";

export interface Notice {
  title: string;
  detail: string;
}
