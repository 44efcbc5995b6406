"""Writes ``docs/why-trial.md``: what ``why`` answered to real questions, as a reader judged it.

``python tests/why/trial_table.py``. The judgements stand in ``judged.toml`` beside the questions of
each set: for each question, for the bare and for the named answer, a verdict, the machine-readable
cause that was told, and the lines that it named; of the third set on also a reason for each verdict
but right, and ``alarm`` where a fault is named in a program that has none; of the eleventh on also
``place`` where a vague answer has the true cause at its line, and only its fix falls short. The
fourth was asked in two halves, and each has its part of the page. ``real_learn6`` to
``real_learn8`` are no blind sets: judged as first asked, by who wrote the rules.

right: the true cause, at its place, and what is said to fix it does. vague: it points the right way,
without cause or place. not known: it says that it does not know. wrong: it says something that is
not so, or that all is well where it is not. Of the third set on, "not judged" is not known.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from test_real_truth import ASKED, HERE, Question, questions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGE = HERE.parents[1] / "docs" / "why-trial.md"
VERDICTS = ("right", "vague", "not known", "wrong")
HOW = ("bare", "named")
PLACES = ("Stack Overflow", "blog", "GitHub issue", "GitHub pull request")  # words of source
HEAD = """# Why, asked as people ask it

Questions from public issue trackers and forums, each rebuilt as a program that runs on the CPU, with its
true cause and its fix written down before gradviz was asked; torch alone proves both
([tests/why/test_real_truth.py](../tests/why/test_real_truth.py)). The program is pasted into one cell under
`%%gradviz`; then `%gradviz why` is asked bare, and with the names that the asker named. **right** is the true
cause at its place, with a fix that works; **vague** points the right way, without cause or place; **not known**
says so; **wrong** says what is not so, or that all is well where it is not. Readers judged the answers by the
written truth. Written by `python tests/why/trial_table.py`; every answer as it fell: {raw}.

"""


def judged(folder: str) -> dict[str, dict[str, Any]]:
    """Return the judgements of a folder, by id of the question."""
    path = HERE / folder / "judged.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def no_longer_right(folder: str, answers: dict[str, dict[str, Any]]) -> list[str]:
    """Return which of the answers that were judged to be right have another cause now, or none of
    the places, and which of ``LEARNT`` have another cause.

    Args:
        folder: of the questions.
        answers: (cause, lines, text) of the bare and of the named answer, by id of the question.
    """
    asked = {q.fields["id"]: q for q in questions(folder)}
    changed = []
    for name, told in judged(folder).items():
        for how in HOW:
            if name not in answers or told[how]["verdict"] != "right":
                continue
            cause, lines, _ = answers[name][how]
            if not any(
                _is_right_still(right, set(asked[name].fields["blame"]), cause, lines)
                for right in _right_answers(asked[name], told, how)
            ):
                changed.append(
                    f"{name}, {how}: {told[how]['cause']} was right; now {cause}, {lines}"
                )
    for name, cause in LEARNT.items() if folder == "real_blind2" else ():
        now = answers[name]["bare"][0] if name in answers else cause
        if now != cause:
            changed.append(f"{name}, bare: {cause} was learnt; now {now}")
    for name, (cause, words) in LEARNT3.get(folder, {}).items():
        if name not in answers:
            continue
        now, _, text = answers[name]["bare"]
        if now != cause or words not in " ".join(text.split()):
            changed.append(f"{name}, bare: {cause}, {words!r} was learnt; now {now}")
    return changed


def _right_answers(question: Question, told: dict[str, Any], how: str) -> Iterator[dict[str, Any]]:
    """Yield what was judged to be right for one way of asking: of a program that raises also what
    a bare question was told, as whatever is named there, the error may be told first."""
    yield told[how]
    if question.kind == "raises" and told["bare"]["verdict"] == "right":
        yield told["bare"]


def _is_right_still(
    right: dict[str, Any], blamed: set[int], cause: str, lines: Sequence[int]
) -> bool:
    """Say whether an answer has the cause that was right, and one of the places where that had."""
    had_place = not blamed.isdisjoint(right["lines"])
    return cause == right["cause"] and not (had_place and blamed.isdisjoint(lines))


# what became of the second set after its one run: the cause that the bare answer tells since
LEARNT = {
    "q224": "extra_gradient",
    "q254": "not_moved",
    "q205": "not_moved",
    "q207": "never_tracked",
    "q211": "not_in_loss",
    "q216": "not_moved",
    "q222": "second_backward",
    "q234": "gradients_pile_up",
    "q236": "second_backward",
    "q243": "gradients_pile_up",
    "q244": "nan",
    "q245": "first_order",
    "q246": "constant_summand",
    "q248": "unused_input",
    "q252": "second_backward",
}


# what became of the third set, of the fourth and of the fifth after their one run: the cause
# that the bare answer tells since, and words of it that name what was asked about
LEARNT3 = {
    "real_blind11": {
        "u006": ("zero_gradient", "lora_A.weight and its factor model.fc1.lora_B.weight are both"),
        "u037": ("second_backward", "advantages = (advantages - advantages.m… was computed once"),
    },
    "real_blind11/healthy": {
        "u059": ("healthy", "No step moves learner.target_encoder.{0,2}.*: 30 times ma.data ="),
        "u065": ("healthy", "12 of 12 trainable parameters have a gradient"),
        "u066": ("healthy", "each step used the gradients of its own loss alone"),
        "u079": ("healthy", "22 of 22 trainable parameters have a gradient"),
    },
    "real_learn7": {
        "q905": ("nan", "at the elements that where() leaves out"),
        "q908": ("not_moved", "optimizer.step() did not run, though 8 backwards"),
        "q910": ("changed_before_read", "was written through .data, past autograd"),
        "q912": ("unused_input", "model_param = meta_param (cell [1] line 18)"),
        "q921": ("healthy", "all 10 rows with the same target"),
        "q922": ("healthy", "takes softmax over dimension 0"),
        "q928": ("extra_gradient", "fake.detach() where it goes in"),
    },
    "real_learn6": {
        "q701": ("cut", "from z itself, in the place of z_q"),
        "q703": ("healthy", "padding_idx=0 (cell [1] line 11) keeps that row out"),
        "q704": ("healthy", "discriminator is frozen (cell [1] line 34)"),
        "q705": ("not_in_loss", "depth is in no loss; only its number is read"),
        "q706": ("constant_summand", "output in the place of one large_logits"),
        "q709": ("healthy", "began with loss itself in the place of 1"),
        "q711": ("view_in_place", "CustomOp, a custom Function, gave back as it came"),
        "q714": ("second_backward", "leave one of the two out"),
        "q721": ("healthy", "(cell [1] line 57), a part of loss_g, sends nothing"),
        "q722": ("healthy", "g_loss is given another value (cell [1] line 49)"),
        "q723": ("not_moved", "is made anew in each call of cal_cl_loss"),
        "q728": ("nan", "Where cell [1] line 18, attn.data.masked_fill_"),
        "q729": ("not_logits", "log_softmax in place of this softmax"),
        "q730": ("healthy", "self.lstm is called without a state (cell [1] line 23)"),
        "q732": ("unused_input", "real_images.requires_grad_() before real_outputs"),
        "q733": ("gradients_pile_up", "before errD_real.backward()"),
        "q741": ("left_out", "Where cell [1] line 47"),
        "q743": ("nan", "Where cell [1] line 23, dots.masked_fill_"),
        "q744": ("healthy", "weight_decay 0.01 moves every entry"),
        "q746": ("no_backward_yet", "Where cell [1] line 22"),
        "q747": ("healthy", "net.train() (cell [1] line 29) puts them back"),
        "q749": ("non_leaf_in_optimizer", "Where cell [1] line 16"),
    },
    "real_blind10": {
        "t010": ("healthy", "and read that in the place of self.mask"),
        "t013": ("never_tracked", "data['data'].requires_grad_() before"),
        "t016": ("rebuilt_from_value", "torch.where(x > 0, x, self.weight * x)"),
        "t023": ("cut", "(cell [1] line 41) out too"),
        "t027": ("modified_in_place", "in the place of a tensor that is written item by item"),
        "t029": ("made_non_leaf", "of self.similarity_bias (line 27) too"),
        "t030": ("hook_refused", "go on with the entries that it picks"),
        "t031": ("no_grad_fn", "in that one of these lines whose parameters are to learn"),
        "t035": ("custom_backward", "torch.stack([…], dim=1) in the place of cat()"),
        "t040": ("requires_grad_non_float", "ask for the gradient of what it picks"),
    },
    "real_blind9": {
        "s035": ("no_grad_fn", "in that one of these lines whose parameters are to learn"),
    },
    "real_learn8/healthy": {
        "q1153": ("not_in_loss", "[observed]"),
        "q1156": ("first_order", "[observed]"),
        "q1160": ("no_backward_yet", "[observed]"),
        "q1177": ("branch_not_taken", "[observed]"),
        "q1178": ("healthy", "31 of 31 trainable parameters had a gradient"),
        "q1179": ("no_backward_yet", "[observed]"),
    },
    "real_blind7": {
        "q803": ("cut", "1 + (means_coef - 1) * torch.linspace(0, 1, 8)"),
    },
    "real_blind7/healthy": {
        "q863": ("first_order", "[observed]"),
        "q869": ("healthy", "net.block.bn2.weight is all zeros"),
        "q871": ("branch_not_taken", "each run may take others"),
        "q875": ("healthy", "input_img: trainable"),
    },
    "real_learn6/healthy": {
        "q762": ("healthy", "none is None, all zeros or NaN"),
        "q767": ("healthy", "none is None, all zeros or NaN"),
    },
    "real_blind5": {
        "q504": ("healthy", "which forward keeps for it, is never read there"),
        "q507": ("cleared_too_often", "scheduler.step() ran in the place of optimizer.step()"),
        "q509": ("constant_summand", "line 53, loss_adv_g ="),
        "q513": ("zero_gradient", "begin a_1.0.weight with numbers other than zero"),
        "q514": ("clipped_wrong", "clip_grad_norm_() met no gradient"),
        "q515": ("frozen", "line 11, if p.requires_grad"),
        "q516": ("healthy", "Nothing writes agent.target_actor"),
        "q519": ("cut", "torch.sigmoid((A - THRES) / t) * A"),
        "q522": ("branch_not_taken", "line 17, self.weight = Parameter"),
        "q532": ("custom_backward", "has no return"),
        "q537": ("frozen", "model.0.mask is frozen"),
        "q538": ("never_tracked", "ask for the others only"),
        "q540": ("second_backward", "for m in net.modules()"),
    },
    "real_blind5/healthy": {
        "q552": ("healthy", "as the program chooses it: if fix_encoder"),
        "q553": ("healthy", "counts predictions that are right"),
    },
    "real_blind4": {
        "q407": ("not_in_loss", "no call of this run used Wqxh"),
        "q420": ("custom_backward", "returned grad_scales of shape [30, 2]"),
        "q404": ("no_grad_fn", "line 51 switches gradients off"),
        "q405": ("no_grad_fn", "(cell [1] line 89) does not belong there"),
        "q411": ("second_backward", "s = s._make(t.detach() for t in s)"),
        "q418": ("gradient_shape", "mone.reshape(())"),
        "q422": ("rebuilt_from_value", "line 64, log_probs = torch.tensor"),
        "q427": ("not_moved", "meta_optimizer.lstms: a plain list"),
        "q429": ("non_leaf", "means2d.grad is None"),
        "q432": ("gradients_pile_up", "set .grad of {b,w} to None after each update"),
        "q426": ("not_moved", "nothing that the optimizers held got a gradient"),
        "q434": ("made_non_leaf", "gpu.w is no nn.Parameter any more"),
        "q437": ("healthy", "(cell [1] line 72) writes qmix.target_qmix_net.* onto itself"),
        "q438": ("shared_snapshot", "line 48, self.target_nn = self.moving_nn"),
        "q439": ("shared_snapshot", "line 45, self.best_model_dict"),
        "q442": ("nan", "1 - eps (cell [1] line 16) is exactly 1 in float32"),
        "q443": ("nan", "F.log_softmax(…) in the place of"),
        "q444": ("nan", "exp overflows"),
        "q445": ("healthy", "gets None for its input"),
        "q446": ("healthy", "from_pretrained is a class method"),
        "q448": ("healthy", "QLinearFunction was not recorded"),
        "q450": ("freeze_without_effect", "an index gives a new tensor"),
        "q453": ("healthy", "compute fake (line 68) anew before each such backward"),
        "q454": ("not_in_loss", "p.grad = torch.zeros_like(p) set its .grad"),
        "q455": ("healthy", "tau is set (cell [1] line 62) and then never read"),
        "q458": ("healthy", "no score can be below 0"),
        "q462": ("healthy", "the power is 1 everywhere"),
        "q464": ("healthy", "(cell [1] line 82), and no optimizer, moved"),
        "q466": ("healthy", "by the sum of 2 gradients of loss"),
        "q467": ("healthy", "its own detached value: that is 0"),
        "q468": ("healthy", "no_grad (cell [1] line 46) keeps gradients off"),
    },
    "real_blind3": {
        "q301": ("healthy", "Made without them: model_opt"),
        "q303": ("not_in_loss", "nothing reads that x"),
        "q304": ("zero_gradient", "both all zeros"),
        "q307": ("nan", "mend each place"),
        "q310": ("cut", "Variable(loss, requires_grad=True)"),
        "q311": ("healthy", "used the sum of 4 backwards"),
        "q312": ("healthy", "hands the gradient on as it comes"),
        "q314": ("healthy", "clipped self._baseline_layer.* only"),
        "q318": ("constant_summand", "its gradient ends in torch.tensor"),
        "q322": ("healthy", "grad_penalty (cell [1] line 53) has a history and goes into no loss"),
        "q323": ("changed_by_hook", "by weight_decay 0.01"),
        "q324": ("freeze_without_effect", "was switched off in model_ft"),
        "q325": ("zero_gradient", "actions = density.rsample()"),
        "q327": ("zero_gradient", "z + torch.rand(1)"),
        "q343": ("nan", "cell [1] line 9"),
        "q344": ("second_backward", "actions.detach() in"),
        "q347": ("no_backward_yet", "w1.grad.data.zero_()"),
        "q348": ("modified_in_place", "make fake anew"),
        "q366": ("healthy", "each step used the gradients of its own loss alone"),
        "q368": ("healthy", "is the same again"),
        "q372": ("healthy", "the two cancel"),
        "q373": ("healthy", "sent a gradient to D.* too"),
    },
    "real_blind3/healthy": {
        "q383": ("healthy", "used in turn"),
        "q387": ("healthy", "no step uses it"),
        "q388": ("healthy", "scaled by"),
        "q389": ("healthy", "scaled by"),
        "q390": ("healthy", "each step used the gradients of its own loss alone"),
        "q395": ("healthy", "the sum of 2 gradients"),
    },
}


def learnt() -> str:
    """Say what became of the second set after its one run."""
    titles = {q.fields["id"]: q.fields["title"] for q in questions("real_blind2")}
    named = "; ".join(f"{titles[name]} ({cause})" for name, cause in LEARNT.items())
    return (
        "This set is used up: rules were learnt from it since, and it no longer counts as blind. "
        "The table is the one run of its day. Since then, while it was worked with, the bare answer to these "
        f"names the true cause: {named}."
    )


def third() -> str:
    """Say how the third set was run and judged."""
    return (
        "Run once, at commit bdc96d2, bare and named; no rule was written by it. From now on this set is used up. "
        "Judged more strictly than the sets before it: every fix in doubt was tried with torch, and one that is "
        'not enough makes an answer vague; and an answer that is "not judged" (gradients are there, whether they '
        "are the wanted ones was not checked) counts as not known, also of a healthy program, where the readers "
        f"of the other sets called it right ({_unjudged('bare')} of the healthy here, bare; {_unjudged('named')}, named). "
        f"The table is that one run. Since then the set was worked with, which counts as no blind run and was judged by no "
        f"reader: {_learnt_of('real_blind3')} of the answers that were not right name what was asked about "
        "(`LEARNT3` in tests/why/trial_table.py holds them); all as they fall now: "
        "[real_blind3](../tests/why/real_blind3/answers_since.txt), "
        "[real_blind3/healthy](../tests/why/real_blind3/healthy/answers_since.txt)."
    )


def _unjudged(how: str) -> int:
    told = judged("real_blind3")
    healthy = [q.fields["id"] for q in questions("real_blind3") if q.kind == "healthy"]
    return sum(
        (told[name][how]["cause"], told[name][how]["verdict"]) == ("healthy", "not known")
        for name in healthy
    )


def _learnt_of(name: str) -> int:
    """Count the answers of a set, and of its healthy programs, that name since what was asked."""
    return sum(len(told) for folder, told in LEARNT3.items() if folder.startswith(name))


FIRST_HALF = {"real_blind4": 35, "real_blind4/healthy": 10}  # how many questions were asked first


def half(folder: str, number: int) -> list[Question]:
    """Return the questions of the first (0) or of the second (1) half of the fourth set."""
    asked, end = questions(folder), FIRST_HALF[folder]
    return asked[end:] if number else asked[:end]


# of the seventh set: words of answered_by where the thread itself was not open to read
UNREAD = ("not open to read", "public code", "public notes")
ROUNDS = ((701, 714), (721, 734), (741, 752))  # of real_learn6, by their ids


def learnt_from() -> str:
    """Say how the set that is no blind one was worked with, and what was right when first asked."""
    told = judged("real_learn6")
    right = [
        sum(told[f"q{i}"]["bare"]["verdict"] == "right" for i in range(first, last + 1))
        for first, last in ROUNDS
    ]
    shares = [f"{n} of {b - a + 1}" for n, (a, b) in zip(right, ROUNDS, strict=True)]
    return (
        "No blind set: collected to learn from, and judged by who wrote the rules. It was asked in three rounds "
        f"(q701 to q714, q721 to q734, q741 to q752), and after each what had not been right was mended; the table is what fell when "
        f"each was first asked: bare right in {', '.join(shares)}. Since then "
        f"{sum(name in LEARNT3['real_learn6'] for name in told)} of the others name the true cause at its place "
        "(`LEARNT3` in tests/why/trial_table.py holds them)."
    )


ROUNDS7 = ((901, 912), (921, 932))  # of real_learn7, by their ids


def learnt_from_forums() -> str:
    """Say how the later set that is no blind one was worked with, and what was right when first
    asked."""
    told = judged("real_learn7")
    right = [
        sum(told[f"q{i}"]["bare"]["verdict"] == "right" for i in range(first, last + 1))
        for first, last in ROUNDS7
    ]
    shares = [f"{n} of {b - a + 1}" for n, (a, b) in zip(right, ROUNDS7, strict=True)]
    return (
        "No blind set: collected to learn from, from forums, and from issues that ask as forums do; judged by who "
        "wrote the rules. It was asked in two rounds (q901 to q912, q921 to q932), and after each what had not been "
        f"right was mended; the table is what fell when each was first asked: bare right in {', '.join(shares)}. "
        f"Since then {len(LEARNT3['real_learn7'])} of the others name the true cause at its place "
        "(`LEARNT3` in tests/why/trial_table.py holds them)."
    )


def learnt_from_forums_meant_so() -> str:
    """Say how many false alarms fell in the healthy programs of that set."""
    return "Asked after the second round. " + _false_alarms("real_learn7/healthy")


ROUNDS8 = ((1151, 1160), (1161, 1170), (1171, 1180), (1181, 1190))  # of real_learn8/healthy


def collected_meant_so() -> str:
    """Say how the healthy programs of the eighth collection were worked with, and how many false
    alarms fell in each round."""
    told = judged("real_learn8/healthy")
    alarms = [
        sum("alarm" in told[f"q{i}"]["bare"] for i in range(first, last + 1))
        for first, last in ROUNDS8
    ]
    shares = [f"{n} of {b - a + 1}" for n, (a, b) in zip(alarms, ROUNDS8, strict=True)]
    return (
        "No blind set: rebuilt small from public code, in four rounds of ten, by who wrote the rules; which of the "
        "files were read for it, and which rebuilt from memory, `answered_by` in questions.toml says. After each round what had been a "
        f"false alarm was mended; the table is what fell when each was first asked: bare false alarms in {', '.join(shares)}. "
        + _false_alarms("real_learn8/healthy")
        + " None since: what may be meant is observed. Two of the fourth round were put in the place of two "
        "that are kept aside elsewhere, and were asked right after it."
    )


def learnt_from_meant_so() -> str:
    """Say how many false alarms fell in the healthy programs of that set."""
    return "Asked after the third round. " + _false_alarms("real_learn6/healthy") + " None since."


def twentieth() -> str:
    """Say how the twentieth set was collected, run and judged."""
    asked = questions("real_blind20")
    issues = _asked_at("GitHub issue", asked)
    raising = sum(question.kind == "raises" for question in asked)
    bare, named = (_placed("real_blind20", how) for how in HOW)
    causes, named_causes = (_with_cause("real_blind20", how) for how in HOW)
    return (
        "Run once, at commit 988a719d. Two people who had read no rule collected it, before gradviz was asked: only what a person asks about a program of her own, with a symptom; "
        "forums first, then the issues of PyTorch and of the large libraries, then those of others; of each search the first usable hit, none passed over as easy, common or not autograd's. "
        f"{issues} GitHub issues, {len(asked) - issues} of forums; {raising} of {len(asked)} raise. Judged by two readers who had read no rule and tried the fixes. "
        f"**The true cause at its place have {causes} of {len(asked)}, bare, and {named_causes}, named**: the right ones, and {len(bare)} vague ones, bare ({_listed(bare)}), and {len(named)}, named. "
        "To j028 nothing was answered within 400 seconds: its picture had hundreds of cards side by side; that is mended. From now on this set is used up."
    )


def twentieth_meant_so() -> str:
    """Say what the healthy programs of the twentieth set are, and how many false alarms fell in
    them."""
    asked = questions("real_blind20/healthy")
    issues = _asked_at("GitHub issue", asked)
    return (
        f"Collected by a third person: {issues} of GitHub issues look odd and are meant so; the rest are others' questions and plain trainings of public code. Run once, at the same commit. "
        + _false_alarms("real_blind20/healthy")
    )


def nineteenth() -> str:
    """Say how the nineteenth set was collected, run and judged."""
    asked = questions("real_blind19")
    issues, pulls = (_asked_at(place, asked) for place in ("GitHub issue", "GitHub pull"))
    raising = sum(question.kind == "raises" for question in asked)
    bare, named = (_placed("real_blind19", how) for how in HOW)
    causes, named_causes = (_with_cause("real_blind19", how) for how in HOW)
    return (
        "Half of a set: its second half was never collected. Run once, at commit 3d83314b, after the rules that the eighteenth led to. Collected as that one: "
        f"{issues} GitHub issues, {pulls} pull requests, {len(asked) - issues - pulls} of forums; {raising} of {len(asked)} raise. "
        "Judged by a reader who had read no rule and tried the fixes. "
        f"**The true cause at its place have {causes} of {len(asked)}, bare, and {named_causes}, named**: the right ones, and {len(bare)} vague ones, bare ({_listed(bare)}), and {len(named)}, named. From now on this set is used up."
    )


def eighteenth() -> str:
    """Say how the eighteenth set was collected, run and judged."""
    asked = questions("real_blind18")
    issues, pulls = (_asked_at(place, asked) for place in ("GitHub issue", "GitHub pull"))
    raising = sum(question.kind == "raises" for question in asked)
    bare, named = (_placed("real_blind18", how) for how in HOW)
    causes, named_causes = (_with_cause("real_blind18", how) for how in HOW)
    return (
        "Run once, at commit 499adb7b. Two people who had read no rule collected it, before gradviz was asked: of each search the first usable hit, "
        f"none passed over as easy, common or not autograd's. {issues} GitHub issues, {pulls} pull requests, {len(asked) - issues - pulls} of forums; {raising} of {len(asked)} raise. "
        "Judged by two readers who had read no rule and tried the fixes. The file names of d003, d013 and e039 were seen by who writes rules, no line of them. "
        f"**The true cause at its place have {causes} of {len(asked)}, bare, and {named_causes}, named**: the right ones, and {len(bare)} vague ones, bare ({_listed(bare)}), and {len(named)}, named. From now on this set is used up."
    )


def eighteenth_meant_so() -> str:
    """Say what the healthy programs of the eighteenth set are, and how many false alarms fell in
    them."""
    asked = questions("real_blind18/healthy")
    issues = _asked_at("GitHub issue", asked)
    return (
        f"Collected by a third person: {issues} of GitHub issues look odd and are meant so; the rest are others' questions and plain trainings of public code. Run once, at the same commit. "
        + _false_alarms("real_blind18/healthy")
        + " To f078 nothing was answered within 400 seconds; its picture alone was not done after two minutes. That is mended, and it was not asked again."
    )


# of the seventeenth set: programs of which lines were printed, by a
# check of the project's whole text, to those who write rules, before it was run
PRINTED = (*(f"a{i:03}" for i in range(1, 11)), *(f"c{i:03}" for i in range(72, 81)))


def seventeenth() -> str:
    """Say how the seventeenth set was collected, run and judged."""
    asked = questions("real_blind17")
    issues, pulls = (_asked_at(place, asked) for place in ("GitHub issue", "GitHub pull"))
    raising = sum(question.kind == "raises" for question in asked)
    concluded = {name for words in ("concluded", "taken from") for name in _read(asked, words)}
    told = judged("real_blind17")
    unprinted = [name for name in told if name not in PRINTED]
    right = sum(told[name]["bare"]["verdict"] == "right" for name in unprinted)
    bare, named = (_placed("real_blind17", how) for how in HOW)
    causes, named_causes = (_with_cause("real_blind17", how) for how in HOW)
    return (
        "Run once, at commit b2bc40e4. Two people who had read no rule collected it by symptom, before gradviz was asked: "
        f"{issues} GitHub issues, {pulls} pull requests, {len(asked) - issues - pulls} of a forum; in {len(concluded)} a part is concluded. {raising} of {len(asked)} raise, which is more than in the sets before (14): "
        "compare by kind. Judged, as the sets before, by a reader who had read no rule and tried the fixes. "
        f"Some lines of {PRINTED[0]} to a010 were printed to those who write the rules by a check of the whole text; nothing was made of it, and without these ten {right} of {len(unprinted)} are right, bare. "
        f"**The true cause at its place have {causes} of {len(asked)}, bare, and {named_causes}, named**: the right ones, and {len(bare)} vague ones, bare ({_listed(bare)}), and {len(named)}, named. From now on this set is used up."
    )


def seventeenth_meant_so() -> str:
    """Say what the healthy programs of the seventeenth set are, and how many false alarms fell in
    them."""
    asked = questions("real_blind17/healthy")
    issues = _asked_at("GitHub issue", asked)
    return (
        f"Collected by a third person: {issues} of GitHub issues look odd and are meant so, {len(asked) - issues} are plain trainings of public code, in which nothing is wrong. Run once, in one piece, at the same commit. "
        + _false_alarms("real_blind17/healthy")
        + " To 12 nothing was answered, as the machine was busy and each program had 120 seconds; they were not asked again."
    )


# of the sixteenth set: words of answered_by where code of the project was read beside the thread,
# and where a part is concluded
CODE_BESIDE = (".py", "the notebook", "the example", "code of that time", "code before it")
CODE_ALONE, TAKEN = ("optimizer's code", "blocks of the"), ("concluded", "is taken from")


def sixteenth() -> str:
    """Say how the sixteenth set was collected, run and judged."""
    asked = questions("real_blind16")
    issues, pulls = (_asked_at(place, asked) for place in ("GitHub issue", "GitHub pull"))
    forum, validated = (_asked_at(place, asked) for place in ("PyTorch forum", "Cross Validated"))
    files, concluded = (
        {name for words in several for name in _read(asked, words)}
        for several in ((*CODE_BESIDE, *CODE_ALONE), TAKEN)
    )
    bare, named = (_placed("real_blind16", how) for how in HOW)
    causes, named_causes = (_with_cause("real_blind16", how) for how in HOW)
    return (
        "Run once, at commit 9ccd06ef; who writes the rules had seen nothing of it. Two people who had read no rule took the first usable hits of searches by symptom, and skipped none because its fault is common: "
        f"{issues} GitHub issues, {pulls} pull requests, {forum} threads of the PyTorch forum, {validated} of Cross Validated, {_asked_at('blog', asked)} blog. For {len(files)} code of the project was read, in {len(concluded)} a "
        f"part is concluded. **The true cause at its place have {causes} of {len(asked)}, bare, and {named_causes}, named**: the right ones, and {len(bare)} vague ones, bare ({_listed(bare)}), and {len(named)}, named. "
        "Not among them: z015 and z021, whose lines are right, and which say of the cause what is not so. z004 was not answered, but broke off; z032 is right, but names another optimizer in its why. From now on this set is used up."
    )


def sixteenth_meant_so() -> str:
    """Say what the healthy programs of the sixteenth set are, and how many false alarms fell in
    them."""
    asked = questions("real_blind16/healthy")
    issues, pulls = (_asked_at(place, asked) for place in ("GitHub issue", "GitHub pull"))
    return (
        f"Collected by a third person: {issues} are of GitHub issues, {pulls} of a pull request, {len(asked) - issues - pulls} of the PyTorch forum. Run once, in one piece, at the same commit. "
        + _false_alarms("real_blind16/healthy")
        + " Wrong without an alarm, as they are marked as observed or not judged, are z057, z061, bare, z062, named, and z078, bare: each says of a gradient what is not so."
    )


# of the fifteenth set: words of answered_by where code of the project was read beside the thread,
# where a part is concluded, and where no more than a page that retells the thread was read
CODE_READ = ("repository", "loop in", "notebook's", "model and the trainer", "first example")
COPIES_READ = ("file it points", "older copy", "class before", "copies of that time")
CONCLUDED, RETOLD = ("concluded", "inferred", "read off", "follows from"), ("retell", "mirror")


def fifteenth() -> str:
    """Say how the fifteenth set was collected, run and judged."""
    asked = questions("real_blind15")
    issues, pulls = (_asked_at(place, asked) for place in ("GitHub issue", "GitHub pull"))
    torch_forum, fast = (_asked_at(place, asked) for place in ("PyTorch forum", "fast.ai"))
    files, concluded, retold = (
        sorted(n for w in words for n in _read(asked, w))
        for words in ((*CODE_READ, *COPIES_READ), CONCLUDED, RETOLD)
    )
    bare, named = (_placed("real_blind15", how) for how in HOW)
    causes, named_causes = (_with_cause("real_blind15", how) for how in HOW)
    return (
        "Run once, at commit 146a243d, bare and named; collected by two people who had read no rule, and nothing of it was seen by who writes the rules. "
        f"{issues} are GitHub issues, {pulls} pull requests, {torch_forum} of the PyTorch forum, {fast} of the forum of fast.ai, {_asked_at('Stack Overflow', asked)} of Stack Overflow; for {len(files)} "
        f"code of the project was read, {len(retold)} were read on a page that retells or mirrors them, and in {_listed(concluded)} a part is concluded. Judged as the fourteenth set was. "
        f"**The true cause at its place have {causes} of {len(asked)}, bare, and {named_causes}, named**: those that are right, and {len(bare)} vague ones, bare "
        f"({_listed(bare)}), and {len(named)}, named ({_listed(named)}). Counted as right: y012, at the line where the optimizer is made, y030, named, where its fix is put before that line, and y031, bare, where what it calls likely is not so. From now on this set is used up."
    )


def fifteenth_meant_so() -> str:
    """Say what the healthy programs of the fifteenth set are, and how many false alarms fell in
    them."""
    asked = questions("real_blind15/healthy")
    issues, code = (_asked_at(place, asked) for place in ("GitHub issue", "GitHub code"))
    return (
        f"Collected by a third person: {issues} are of GitHub issues, {code} are code of a repository, about which nobody asked, 1 is of a page of documentation, 1 of an article. "
        "Run in two pieces, 24 and the 6 others, each once, at the same commit. "
        + _false_alarms("real_blind15/healthy")
        + " Counted is y062, a buffer that is meant to be none, though its mend stands on a condition. Wrong without an alarm, as they are marked as observed or not known, are y059, bare, "
        "and y061: each says of a gradient what is not so."
    )


# of the fourteenth set: words of answered_by where a file of the project was read beside the thread,
# and where a part of the program is not from the thread
FILE_READ, NOT_READ = ("version of", "'s file", "the file's"), ("inferred", "filled in")


def fourteenth() -> str:
    """Say how the fourteenth set was collected, run and judged."""
    asked = questions("real_blind14")
    forum, pulls, blogs = (_asked_at(p, asked) for p in ("PyTorch forum", "GitHub pull", "blog"))
    files, filled = ([n for w in words for n in _read(asked, w)] for words in (FILE_READ, NOT_READ))
    bare, named = (_placed("real_blind14", how) for how in HOW)
    causes, named_causes = (_with_cause("real_blind14", how) for how in HOW)
    return (
        "Run once, at commit 254c2dd0, bare and named; collected by three people who had read no rule. The file names of 17 questions were seen, by accident, by who writes "
        "the rules before the run; no rule was written for their kinds afterwards. "
        f"{_asked_at('GitHub issue', asked)} are GitHub issues, {pulls} pull requests, {forum} are of the PyTorch forum, {blogs} is from a blog, none of Stack Overflow; for {len(files)} a file of the project was read as "
        f"well, and in {_listed(sorted(filled))} a part is inferred or filled in (`answered_by`). Judged as the thirteenth set was, by a reader who wrote no rule. **The true "
        f"cause at its place have {causes} of {len(asked)}, bare, and {named_causes}, named**: those that are right, and {len(bare)} vague ones, bare ({_listed(bare)}), and {len(named)}, named, of "
        "which only the fix falls short. Counted as right is x019, at the line of the call whose `use_reentrant` another line sets. From now on this set is used up."
    )


def fourteenth_meant_so() -> str:
    """Say what the healthy programs of the fourteenth set are, and how many false alarms fell in
    them."""
    asked = questions("real_blind14/healthy")
    issues = _asked_at("GitHub issue", asked)
    return (
        f"Somebody asked about each: {issues} are of GitHub issues of as many projects, {len(asked) - issues} of the PyTorch forum; for {len(_read(asked, 'repository'))} a file of the project "
        "was read as well. Run right after the questions above, at the same commit. "
        + _false_alarms("real_blind14/healthy")
        + " Counted is x063, a buffer that is meant to be none. Not counted: answers that are marked as observed or not known, also where what they lead with is as it should be. "
        "Wrong without an alarm is x067, which says of gradients that none is all zeros, where one is, behind the words that it does not know."
    )


def thirteenth() -> str:
    """Say how the thirteenth set was collected, run and judged."""
    asked = questions("real_blind13")
    pulls, blogs = (_asked_at(place, asked) for place in ("GitHub pull request", "blog"))
    forum, overflow = (_asked_at(place, asked) for place in ("PyTorch forum", "Stack Overflow"))
    bare, named = (_placed("real_blind13", how) for how in HOW)
    causes, named_causes = (_with_cause("real_blind13", how) for how in HOW)
    return (
        "Run once, at commit 0126c34f, bare and named; who collected it read no rule. Rules were learnt from its answers before it was judged; the table is "
        f"the run before them. Of its {len(asked)} questions {len(asked) - pulls - blogs - forum - overflow} are GitHub issues, {pulls} pull requests, {blogs} blog posts, "
        f"{forum} are of the PyTorch forum and {overflow} of Stack Overflow, read in translated copies. As who collected it counted, of about 33 the faulty lines were "
        f"read; in {_listed(_read(asked, 'inferred'))} a part is inferred (`answered_by`). Judged as the twelfth set was, by a reader who wrote no rule. "
        f"Of the vague answers {len(bare)}, bare ({_listed(bare)}), and {len(named)}, named, have the true cause at its place, and only their fix falls short: "
        f"with those that are right, {causes} of {len(asked)}, bare, and {named_causes}, named, have it. The place of w012 is the condition that it quotes. Of two questions the "
        "fault is none of autograd's (w003, w022). From now on this set is used up."
    )


def thirteenth_meant_so() -> str:
    """Say what the healthy programs of the thirteenth set are, and how many false alarms fell in
    them."""
    asked = questions("real_blind13/healthy")
    return (
        f"Somebody asked about each, in {_asked_at('GitHub issue', asked)} GitHub issues of as many projects; for {len(_read(asked, 'were read'))} a file of the project was "
        "read as well, of some another version. Run right after the questions above, at the same commit. "
        + _false_alarms("real_blind13/healthy")
        + " Wrong without an alarm are observations of what changes nothing (w058, w079) and gradients said to be there that were cleared (w071, bare). To w064, w069 "
        "and w077 nothing was answered: their process ended. Refused, and so not known, was one named answer to a number."
    )


def twelfth() -> str:
    """Say how the twelfth set was collected, run and judged."""
    asked = questions("real_blind12")
    github = [q for q in asked if "//github.com/" in q.fields["link"]]
    blogs = _asked_at("blog", asked)
    bare, named = (_placed("real_blind12", how) for how in HOW)
    causes, named_causes = (_with_cause("real_blind12", how) for how in HOW)
    return (
        "Run once, at commit 062def0, bare and named; no rule was written by it, and who collected it read none. Of its "
        f"{len(asked)} questions {len(github)} are GitHub threads of {len({q.fields['source'].partition(' (')[2] for q in github})} projects, "
        f"{len(asked) - len(github) - blogs} are from forums and question sites (of PyTorch {_asked_at('PyTorch forum', asked)}, Stack Overflow "
        f"{_asked_at('Stack Overflow', asked)}), and {blogs} is from a blog. As who collected it counted, of 33 the program or the faulty lines were read (`answered_by` says what); in "
        f"{_listed(_read(asked, 'inferred'))} a part is inferred. Judged as the eleventh set was, by a reader who wrote no rule: a fix that leaves a "
        "part of the fault (v027, v033, v035, v038, v039), makes another line raise (v028, v036), is for another program (v032) or is missing "
        f"(v001) makes an answer vague. So {len(bare)} vague answers, bare, and {len(named)}, named, have the true cause at its line: with those that are right, "
        f"{causes} of {len(asked)}, bare, and {named_causes}, named, have it. Of three questions the fault is none of autograd's (v011, v015, v017). "
        "Refused, and so not known, were named answers to a number (v010) and to an object of the program's own (v002). The named answer to v034 is right, but "
        "counts two parameters twice. The table is that one run; from now on this set is used up."
    )


def twelfth_meant_so() -> str:
    """Say what the healthy programs of the twelfth set are, and how many false alarms fell in
    them."""
    asked = questions("real_blind12/healthy")
    return (
        f"Somebody asked about each, in {_asked_at('GitHub issue', asked)} GitHub issues of as many projects; for {len(_read(asked, 'were read'))} a file of the "
        "project was read as well. None is a physics-informed network or PPO. Run right after the questions above, at the same commit. "
        + _false_alarms("real_blind12/healthy")
        + " Counted, though it is marked as observed, is a named answer that asks for its mend without a condition (v059); not counted are others that "
        "are so marked, also where one is not so (v059, bare), and a named one that asks for its mend on a condition, and says what is not so (v066). "
        "To v065 nothing was answered: its process was ended after 120 seconds. Refused, and so not known, were five named answers."
    )


def _with_cause(folder: str, how: str) -> int:
    """Return how many answers have the true cause at its place, whatever their fix does."""
    told = judged(folder).values()
    return sum(one[how]["verdict"] == "right" or "place" in one[how] for one in told)


def eleventh() -> str:
    """Say how the eleventh set was collected, run and judged."""
    asked = questions("real_blind11")
    issues, pulls = (_asked_at(place, asked) for place in ("GitHub issue", "GitHub pull"))
    alone = sorted(_read(asked, "no reply") + _read(asked, "without a reply"))
    bare, named = (_placed("real_blind11", how) for how in HOW)
    return (
        "Run once, at commit 1da0466, bare and named; no rule was written by it, and who collected it read none. Its "
        f"{len(asked)} questions are {issues} issues and {pulls} pull requests of GitHub, of PyTorch and of other projects; none is of Stack Overflow or "
        f"a forum. Of about 31 the faulty lines were read; the rest is rebuilt from what the thread describes. {len(alone)} have no reply ({_listed(alone)}), and in "
        f"{_listed(_read(asked, 'inferred'))} a part of the cause is inferred: torch alone proves these. `answered_by` says for each what was read. "
        "Judged as the tenth set was, by a reader who wrote no rule: a fix that leaves a part of the fault (u030), does harm without a word (u034), cannot be "
        "applied as it stands (u010, u023, u040), or stands beside one that works (u004, u032) makes an answer vague. So "
        f"{len(bare)} of the vague answers, bare ({_listed(bare)}), and {len(named)}, named, have the true cause at its line, and only their fix falls short. "
        "Of two questions the fault is none of autograd's (u025, u026): an answer that names no fault there is right. "
        "Wrong is also what judges nothing, and says what is not so of what was asked about (u006). Refused, and so not known, were two named answers to None. "
        "The table is that one run; from now on this set is used up."
    )


def eleventh_meant_so() -> str:
    """Say what the healthy programs of the eleventh set are, and how many false alarms fell in
    them."""
    asked = questions("real_blind11/healthy")
    return (
        f"Somebody asked about each, in {_asked_at('GitHub issue', asked)} GitHub issues; what was read of them `answered_by` says. Run right after the questions "
        "above, at the same commit. "
        + _false_alarms("real_blind11/healthy")
        + " Two of them say what is not so (u065, u066). Not counted: answers that are marked as observed, and say themselves that what they lead with may be "
        "meant (u073, u074, u080), also where it is not so (u067, named), named answers that lead with a fault, and ask for its mend on a condition (u059), and "
        "answers that name no fault, and say what is not so (u069). To u076 nothing was answered: the picture of its cell was not drawn within the 120 seconds "
        "that each program has. Refused, and so not known, was one named answer to a number."
    )


def _placed(folder: str, how: str) -> list[str]:
    """Return the ids of the vague answers of which the cause and its line are right."""
    return [name for name, told in judged(folder).items() if told[how].get("place")]


def tenth() -> str:
    """Say how the tenth set was collected, run and judged."""
    asked = questions("real_blind10")
    overflow, blog, issues, pulls = (_asked_at(place, asked) for place in PLACES)
    titles = _read(asked, "the title alone was read")
    alone = [name for name in _read(asked, "cause proven by torch") if name not in titles]
    lengths = sorted(len(q.program.splitlines()) for q in asked)
    return (
        "Run once, at commit c7b9417, bare and named; no rule was written by it, and who collected it read none. Of its "
        f"{len(asked)} questions {issues} are GitHub issues, {pulls} pull requests, {overflow} from Stack Overflow, "
        f"{_asked_at('discuss.pytorch.org', asked)} from discuss.pytorch.org and {blog} from a blog. Of the {len(titles)} of Stack "
        "Overflow only the title was read, in a public list of posts: program and answer are rebuilt, so they are one way to come to that "
        f"title, maybe not the asker's. Of {len(asked) - len(titles) - blog} the thread's own code, or a description with code, was read; of {len(alone)} of these "
        f"({_listed(alone)}) no reply was read that names the cause: torch alone proves it. t022 is rebuilt from the description in a blog, and t037 from what its "
        "title describes. `answered_by` and `stand_ins` in questions.toml say for each what was read and what was put in its place. "
        f"Its programs have {lengths[0]} to {lengths[-1]} lines, and half of them {lengths[len(asked) // 2 - 1]} or fewer (of the ninth set, 42), so they are longer than those of the three sets before. "
        "Judged as the ninth set was, by a reader who wrote no rule: every fix in doubt was tried with torch, and one that does harm "
        "without a word (t031), leaves a part of the fault (t023, t029), cannot be applied where it points (t010, t016, t040), or stands "
        "beside one that works (t027) makes an answer vague. Of three questions the fault is none of autograd's (t018, t019, "
        "t038): an answer that names no fault there is right, but for one that leads with what nobody asked about (t019, named). Observed, without "
        "the fact that was asked about, is not known; an observation that leads with the true cause is right (t004, t015), and vague where "
        "its fix is not enough (t010). Refused, and so not known, were three named answers: to a bool, a number, and an object of the program's own class. "
        "The table is that one run; from now on this set is used up."
    )


def tenth_meant_so() -> str:
    """Say what the healthy programs of the tenth set are, and how many false alarms fell in them."""
    asked = questions("real_blind10/healthy")
    issues, pulls = (_asked_at(place, asked) for place in ("GitHub issue", "GitHub pull"))
    return (
        f"Somebody asked about each, in {issues} issues and {pulls} pull requests; what was read of them `answered_by` says. Run right after the questions above, "
        "at the same commit. "
        + _false_alarms("real_blind10/healthy")
        + " What both say is so, and meant. Not counted: named answers that lead with a fault, and ask for its mend on a condition "
        "(t053, t061), and answers that name no fault, and lead with something that is none (t064). Refused, and so not known, were two named answers to a number."
    )


def _asked_at(place: str, asked: list[Question]) -> int:
    return sum(q.fields["source"].startswith(place) for q in asked)


def _read(asked: list[Question], words: str) -> list[str]:
    """Return the ids of the questions of which that was read, in words of answered_by."""
    return [q.fields["id"] for q in asked if words in q.fields["answered_by"]]


# of the ninth set, as answered_by tells: what rests on a description, and what nobody replied to
FROM_WORDS, NO_REPLY = ("s011", "s022", "s024", "s026", "s038"), ("s017", "s021")


def ninth() -> str:
    """Say how the ninth set was collected, run and judged."""
    asked = questions("real_blind9")
    overflow, blog, issues, pulls = (_asked_at(place, asked) for place in PLACES)
    return (
        "Run once, at commit f5f8a13, bare and named; no rule was written by it, and who collected it read none. Of its "
        f"{len(asked)} questions {issues} are GitHub issues, {pulls} pull requests that mend the fault, {overflow} from Stack Overflow and "
        f"{blog} from a blog. The {overflow} of Stack Overflow come from a public data set of reproduced bugs; their replies were not read. "
        "Of about 30 the asker's program, or the faulty lines, were read; of the others a description, most with the faulty line "
        f"({_listed(FROM_WORDS)} among them), and s004 is written from a description alone. To {_listed(NO_REPLY)} no maintainer replied: "
        "torch alone proves them. s022 needs an unlucky seed, as about every second is. `answered_by` and "
        "`stand_ins` in questions.toml say for each what was read and what was put in its place. "
        "Half of its programs have 42 lines or fewer (of the eighth set, 47). "
        "Judged as the eighth set was, by a reader who wrote no rule: every fix in doubt was tried with torch, and one that does "
        "harm without a word (s035), leaves a part of the fault (s013, s027, s029), or cannot be applied where it points (s036, s040) makes an answer vague. Of three "
        "questions the fault is none of autograd's (s002, s026, s037): an answer that names no fault there is right. Observed, without "
        "the fact that was asked about, is not known; an observation that leads with the true cause is right (s003, s014, s018). Refused, and "
        "so not known, was one named answer to an expression that is None. The table is that one run; "
        "from now on this set is used up."
    )


def ninth_meant_so() -> str:
    """Say what the healthy programs of the ninth set are, and how many false alarms fell in them."""
    asked = questions("real_blind9/healthy")
    people = sum(_asked_at(place, asked) for place in ("GitHub issue", "GitHub pull"))
    return (
        f"Of {people} somebody asked in an issue or a review (s051 to s064, but for s056); the other {len(asked) - people} are rebuilt from public code and "
        "tutorials, and what looks odd in them is in the words of who collected them. Run right after the questions above, at the same commit. "
        + _false_alarms("real_blind9/healthy")
        + " What both say is so, and meant. Not counted: a named answer that leads with a fault, and asks for its mend on a condition (s053, s067), and "
        "answers that name no fault, and lead with what is not so (s062)."
    )


# of the eighth set, as answered_by tells: what rests on a description, and what was cut off
DESCRIBED, CUT_OFF = ("r025", "r030", "r031", "r033"), ("r001", "r008", "r014")
NOT_GITHUB = ("forum", "Stack Overflow", "blog", "article")  # words of source


def eighth() -> str:
    """Say how the eighth set was collected, run and judged."""
    asked = questions("real_blind8")
    forums = sum(any(word in q.fields["source"] for word in NOT_GITHUB) for q in asked)
    benchmark = [q.fields["id"] for q in asked if "TrainCheck" in q.fields["answered_by"]]
    return (
        "Run once, at commit fbc53ce, bare and named; no rule was written by it. Of its "
        f"{len(asked)} questions {forums} are from forums, Stack Overflow (some in mirrors) and blogs, and "
        f"{len(asked) - forums} from GitHub; a fortieth (r010) went before the run, as its thread had been learned from. Of "
        f"about {len(asked) - len(DESCRIBED)} the program, or a full description with code, was read; {_listed(benchmark)} come "
        f"from a public benchmark of such questions, {_listed(DESCRIBED)} rest on a description, and of {_listed(CUT_OFF)} what was "
        "read was cut off, and the rest is rebuilt. Of some the question was read and not the answers: then the cause is proven by torch "
        "alone. `answered_by` and `stand_ins` in questions.toml say for each what was read and what was put in its place. "
        "Half of its programs have 47 lines or fewer (of the seventh set, 33), so the shares do not compare. "
        "Judged as the seventh set was, by a reader who wrote no rule: every fix in doubt was tried with torch, and one that does "
        "harm without a word (r014), or leaves a part of the fault (r017, r029), makes an answer vague. Of two "
        "questions the fault is none of autograd's (r019, r031): an answer that names no fault there is right. Observed, without "
        "the fact that was asked about, is not known; an observation of the cause without a fix is vague (r032, r035). Refused, and "
        "so not known, were two named answers to an expression that is None or a plain number. The table is that one run; "
        "from now on this set is used up."
    )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def eighth_meant_so() -> str:
    """Say what the healthy programs of the eighth set are, and how many false alarms fell in them."""
    return (
        "Rebuilt from public code. Of three somebody asked (r051, r052, r058); what looks odd in the others is in the words of who "
        "collected them. Run right after the questions above, at the same commit. "
        + _false_alarms("real_blind8/healthy")
        + " What both say is so, and meant. Not counted: bare answers that are marked as observed, and say themselves that what they lead "
        "with may be meant (r066, r075); in the sets before such answers bore the name of a fault, and were counted. Nor one "
        "that names no fault, and leads with something that is none (r055). To r057 nothing was answered: `why` broke off with an AttributeError, as the optimizer there, written "
        "by hand, has no `defaults`."
    )


def seventh() -> str:
    """Say how the seventh set was collected, run and judged."""
    asked = questions("real_blind7")
    unread = sum(any(words in q.fields["answered_by"] for words in UNREAD) for q in asked)
    programs = sum("answers were not" in q.fields["answered_by"] for q in asked)
    return (
        "Run once, at commit 1d6c707, bare and named; no rule was written by it. Not collected as the sets before it: "
        f"of {unread} of its {len(asked)} questions, all from forums, the thread was not open, and only its title, or "
        "public code and notes that cite it, could be read; program, cause and fix were rebuilt from that, so they are "
        f"one way to come to that title, maybe not the asker's. Of {programs} more the asker's program was read, and not "
        "the answers. Torch proves each, and `answered_by` in questions.toml says for each what was read. Its programs "
        "are shorter than those of the set before (half have 33 lines or fewer; there, 54), so the shares do not compare. Judged as the sixth set "
        "was, by a reader who wrote no rule: every fix in doubt was tried with torch. Of three questions the fault is "
        "none of autograd's (q824 to q826): an answer that names no fault there is right, also one that judges nothing. "
        "Refused, and so not known, were five named answers to an expression that is None or a plain number. "
        "The table is that one run; from now on this set is used up."
    )


def seventh_meant_so() -> str:
    """Say what the healthy programs of the seventh set are, and how many false alarms fell in them."""
    return (
        "Nobody asked about these: they are rebuilt from public code (tutorials, examples, the code of papers), and "
        "what looks odd in each is in the words of who collected them. Run right after the questions above, at the same "
        "commit. "
        + _false_alarms("real_blind7/healthy")
        + " Of the bare ones three are not so (q853, q855, q860); "
        "what the other four say is so, and meant. Among these, q869 and q871 print the very gradients that are told, "
        "and q863 takes its inner gradients without create_graph, as the answer says and the written truth does not. "
        "Not counted: a named answer that leads with a fault, and asks for its mend on a condition (q873)."
    )


def sixth() -> str:
    """Say how the sixth set was run and judged."""
    return (
        "Run once, at commit b6b612d, bare and named; no rule was written by it. Judged as the fifth set was, by a "
        "reader who wrote no rule: every fix in doubt was tried with torch. Of three questions the fault is in a "
        "formula and none of autograd's (q626 to q628): an answer that names no fault there is right, also one that "
        "judges nothing. An observation that names the cause, but stands behind others that have no part in it, makes "
        "an answer vague (q616). The table is that one run; from now on this set is used up."
    )


def sixth_meant_so() -> str:
    """Say how many false alarms fell in the healthy programs of the sixth set."""
    return (
        "Run right after the questions above, at the same commit. "
        + _false_alarms("real_blind6/healthy")
        + " Not counted: a named answer that leads with a fault, and asks for its mend on a condition (q664)."
    )


def fifth() -> str:
    """Say how the fifth set was run and judged."""
    return (
        "Run once, at commit 5f3b474, bare and named; no rule was written by it. Judged as the fourth set was, by a "
        "reader who wrote no rule: every fix in doubt was tried with torch. Of three questions the fault is in a "
        "formula and none of autograd's (q526 to q528): an answer that names no fault there is right, also one that "
        "judges nothing. The table is that one run; from now on this set is used up."
    )


def fifth_meant_so() -> str:
    """Say how many false alarms fell in the healthy programs of the fifth set."""
    return (
        "Run right after the questions above, at the same commit. "
        + _false_alarms("real_blind5/healthy")
        + " Not counted: answers that name no fault, and lead with something that is none (q560)."
    )


def fourth_second() -> str:
    """Say how the second half of the fourth set was run, and how many false alarms fell in it."""
    meant = [q for q in half("real_blind4", 1) if q.kind == "healthy"]
    told = judged("real_blind4") | judged("real_blind4/healthy")
    names = [q.fields["id"] for q in (*meant, *half("real_blind4/healthy", 1))]
    bare, named = ([n for n in names if "alarm" in told[n][how]] for how in HOW)
    return (
        "Run once, at commit c162a50, bare and named: q436 to q469, and q481 to q489 of the programs that look odd "
        "and are meant so (below). No rule was written by it; between the two halves rules were learnt from the first. "
        "No program of it raises. Judged as the first half was, by a reader who wrote no rule: every fix in doubt was "
        "tried with torch. A named answer that judges nothing, but says that the step moved what was thought to stand "
        "still, is vague; the first half has both verdicts for such answers. "
        f"False alarms in the {len(names)} programs that are meant so: {len(bare)} bare answers lead, unasked, with the "
        f"name of a fault ({_causes(bare, 'bare', told)}); {len(named)} named answer asks without a condition for a mend "
        f"where none is needed ({_causes(named, 'named', told)})."
    )


def fourth_second_meant_so() -> str:
    """Say how the healthy programs of the fourth set's second half were run."""
    return "Run right after the questions above, at the same commit."


def fourth() -> str:
    """Say how the first half of the fourth set was run."""
    answered = sum(q.fields["id"] in LEARNT3["real_blind4"] for q in half("real_blind4", 0))
    return (
        "Run once, at commit 87ccf07, bare and named: q401 to q435, and q471 to q480 of the programs that look odd "
        "and are meant so. No rule was written by it. The second half was unseen then. "
        "Judged as the third set was: every fix in doubt was tried with torch as it stands, and one that is not "
        'enough, or cannot be applied, makes an answer vague; "not judged" counts as not known, but for an '
        "observation that names what was asked about, which is judged as any answer. What leads with a fault that "
        "is not there is wrong, also where the true one comes after it. The table is that one run. Since then this half "
        "was worked with, which counts as no blind run and was judged by no reader: of the answers that were not "
        f"right, {answered} bare ones have the place or the fix now that they lacked (`LEARNT3` in tests/why/trial_table.py holds them)."
    )


def fourth_meant_so() -> str:
    """Say how many false alarms fell in the healthy programs of the fourth set's first half."""
    told = judged("real_blind4/healthy")
    names = [q.fields["id"] for q in half("real_blind4/healthy", 0)]
    alarms = {how: sum("alarm" in told[name][how] for name in names) for how in HOW}
    return (
        "Run right after the questions above, at the same commit. False alarms: "
        f"{alarms['bare']} of {len(names)} bare answers, {alarms['named']} of {len(names)} named ones."
    )


def meant_so() -> str:
    """Say how many false alarms fell in the healthy programs of the third set."""
    return (
        "People asked about these too, and nothing is wrong in any; run right after the third set, at the same commit, and used "
        "up with it. " + _false_alarms("real_blind3/healthy")
    )


def _false_alarms(folder: str) -> str:
    told = judged(folder)
    alarms = {how: [n for n in told if told[n][how].get("alarm")] for how in HOW}
    return (
        f"False alarms: {len(alarms['bare'])} of {len(told)} bare answers lead, unasked, with the name "
        f"of a fault ({_causes(alarms['bare'], 'bare', told)}); {len(alarms['named'])} of {len(told)} named answers ask "
        f"without a condition for a mend where none is needed ({_causes(alarms['named'], 'named', told)})."
    )


def _causes(names: list[str], how: str, told: dict[str, dict[str, Any]]) -> str:
    return ", ".join(told[name][how]["cause"] for name in names) or "none"


def page() -> str:
    """Return the page."""
    raw = ", ".join(f"[{folder}](../tests/why/{folder}/answers.txt)" for folder in ASKED)
    return HEAD.format(raw=raw) + "\n".join(
        [
            *_part("real_blind20", "The twentieth set, as it fell", twentieth()),
            *_part(
                "real_blind20/healthy",
                "Programs that look odd and are meant so, and plain trainings, of the twentieth set",
                twentieth_meant_so(),
            ),
            *_part("real_blind19", "Half of a nineteenth set, as it fell", nineteenth()),
            *_part("real_blind18", "The eighteenth set, as it fell", eighteenth()),
            *_part(
                "real_blind18/healthy",
                "Programs that look odd and are meant so, and plain trainings, of the eighteenth set",
                eighteenth_meant_so(),
            ),
            *_part("real_blind17", "The seventeenth set, as it fell", seventeenth()),
            *_part(
                "real_blind17/healthy",
                "Programs that look odd and are meant so, and plain trainings, of the seventeenth set",
                seventeenth_meant_so(),
            ),
            *_part("real_blind16", "The sixteenth set, as it fell", sixteenth()),
            *_part(
                "real_blind16/healthy",
                "Programs that look odd and are meant so, of the sixteenth set",
                sixteenth_meant_so(),
            ),
            *_part("real_blind15", "The fifteenth set, as it fell", fifteenth()),
            *_part(
                "real_blind15/healthy",
                "Programs that look odd and are meant so, of the fifteenth set",
                fifteenth_meant_so(),
            ),
            *_part("real_blind14", "The fourteenth set, as it fell", fourteenth()),
            *_part(
                "real_blind14/healthy",
                "Programs that look odd and are meant so, of the fourteenth set",
                fourteenth_meant_so(),
            ),
            *_part("real_blind13", "The thirteenth set, as it fell", thirteenth()),
            *_part(
                "real_blind13/healthy",
                "Programs that look odd and are meant so, of the thirteenth set",
                thirteenth_meant_so(),
            ),
            *_part("real_blind12", "The twelfth set, as it fell", twelfth()),
            *_part(
                "real_blind12/healthy",
                "Programs that look odd and are meant so, of the twelfth set",
                twelfth_meant_so(),
            ),
            *_part("real_blind11", "The eleventh set, as it fell", eleventh()),
            *_part(
                "real_blind11/healthy",
                "Programs that look odd and are meant so, of the eleventh set",
                eleventh_meant_so(),
            ),
            *_part("real_blind10", "The tenth set, as it fell", tenth()),
            *_part(
                "real_blind10/healthy",
                "Programs that look odd and are meant so, of the tenth set",
                tenth_meant_so(),
            ),
            *_part("real_blind9", "The ninth set, as it fell", ninth()),
            *_part(
                "real_blind9/healthy",
                "Programs that look odd and are meant so, of the ninth set",
                ninth_meant_so(),
            ),
            *_part("real_blind8", "The eighth set, as it fell", eighth()),
            *_part(
                "real_blind8/healthy",
                "Programs that look odd and are meant so, of the eighth set",
                eighth_meant_so(),
            ),
            *_part("real_blind7", "The seventh set, as it fell", seventh()),
            *_part(
                "real_blind7/healthy",
                "Programs that look odd and are meant so, of the seventh set",
                seventh_meant_so(),
            ),
            *_part("real_blind6", "The sixth set, as it fell", sixth()),
            *_part(
                "real_blind6/healthy",
                "Programs that look odd and are meant so, of the sixth set",
                sixth_meant_so(),
            ),
            *_part("real_blind5", "The fifth set, as it fell", fifth()),
            *_part(
                "real_blind5/healthy",
                "Programs that look odd and are meant so, of the fifth set",
                fifth_meant_so(),
            ),
            *_part(
                "real_blind4",
                "The fourth set, its second half, as it fell",
                fourth_second(),
                half("real_blind4", 1),
            ),
            *_part(
                "real_blind4/healthy",
                "Programs that look odd and are meant so, the second half of the fourth set",
                fourth_second_meant_so(),
                half("real_blind4/healthy", 1),
            ),
            *_part(
                "real_blind4",
                "The fourth set, its first half, as it fell",
                fourth(),
                half("real_blind4", 0),
            ),
            *_part(
                "real_blind4/healthy",
                "Programs that look odd and are meant so, the first half of the fourth set",
                fourth_meant_so(),
                half("real_blind4/healthy", 0),
            ),
            *_part("real_blind3", "The third set kept aside, as it fell", third()),
            *_part(
                "real_blind3/healthy",
                "Programs that look odd and are meant so, of the third set",
                meant_so(),
            ),
            *_part("real_blind2", "The second set kept aside, as it fell", learnt()),
            *_part("real_blind", "The first set kept aside, as it fell; learnt from since"),
            *_part(
                "real_learn8/healthy",
                "Programs that look odd and are meant so, collected after the seventh set",
                collected_meant_so(),
            ),
            *_part(
                "real_learn7",
                "Collected to learn from, after the sixth set",
                learnt_from_forums(),
            ),
            *_part(
                "real_learn7/healthy",
                "Programs that look odd and are meant so, collected with those",
                learnt_from_forums_meant_so(),
            ),
            *_part("real_learn6", "Collected to learn from, after the fifth set", learnt_from()),
            *_part(
                "real_learn6/healthy",
                "Programs that look odd and are meant so, collected with these",
                learnt_from_meant_so(),
            ),
            *_part("real", "Worked with while the rules were written"),
        ]
    )


def _part(
    folder: str, title: str, note: str = "", some: list[Question] | None = None
) -> Iterator[str]:
    asked, told = some or questions(folder), judged(folder)
    yield f"## {title}"
    yield ""
    if note:
        yield note
        yield ""
    yield f"{len(asked)} questions judged."
    yield ""
    yield f"| | {' | '.join(VERDICTS)} |"
    yield "| --- |" + " ---: |" * len(VERDICTS)
    for how in HOW:
        for kind in ("silent", "raises", "healthy", "all"):
            verdicts = Counter(
                told[q.fields["id"]][how]["verdict"] for q in asked if kind in (q.kind, "all")
            )
            if not verdicts:
                continue
            yield f"| {how}, {kind} | {' | '.join(str(verdicts[v]) for v in VERDICTS)} |"
    yield ""
    yield "| question | true cause | bare | named |"
    yield "| --- | --- | --- | --- |"
    yield from (_row(q, told[q.fields["id"]]) for q in asked)
    yield ""


def _row(question: Question, told: dict[str, Any]) -> str:
    fields = question.fields
    cells = [_cell(told[how]) for how in HOW]
    if told["bare"].get("reason") == told["named"].get("reason") and cells[0] == cells[1]:
        cells[1] = cells[1].partition(": ")[0]
    title = fields["title"].replace("|", "\\|")
    return f"| [{title}]({fields['link']}) | {fields['cause'].replace('|', chr(92) + '|')} | {' | '.join(cells)} |"


def _cell(told: dict[str, Any]) -> str:
    reason = f": {told['reason']}" if "reason" in told else ""
    return f"{told['verdict']} ({told['cause'] or 'no answer'}){reason}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
