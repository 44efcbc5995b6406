"""Every claim of the source notes has its proof, and docs/claims.md says what the proofs say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import claims
import ledger
import pytest
import torch
from claims import CLAIMS, NoProof, Program

from course import books

COUNTS = {"true": 88, "needs nuance": 35, "false": 21, "outdated": 4, "not testable": 2}
BY_HAND = "run python tests/ledger.py"
GPU = [(id, program) for id, claim in sorted(CLAIMS.items()) for program in claim.on_cuda]


@pytest.mark.parametrize("id", books.CLAIMS)
def test_a_claim_has_a_proof_and_a_verdict(id: str) -> None:
    assert id in CLAIMS, f"no program in tests/claims/ tries {id}"
    assert CLAIMS[id].verdict() in COUNTS


@pytest.mark.parametrize(("id", "program"), GPU, ids=[id for id, _ in GPU])
def test_a_claim_about_gpus_holds_on_one(id: str, program: Program) -> None:
    if not torch.cuda.is_available():
        pytest.skip("not checked here: no CUDA")
    assert claims.run(program)


def test_the_verdicts_are_those_that_the_course_tells() -> None:
    assert Counter(claim.verdict() for claim in CLAIMS.values()) == COUNTS


def test_there_are_no_other_claims_and_all_come_from_a_note() -> None:
    assert sorted(CLAIMS) == books.CLAIMS
    assert {claim.source for claim in CLAIMS.values()} == {f"00{number}" for number in range(5)}


def test_the_programs_carry_the_number_of_their_claim() -> None:
    for id, claim in CLAIMS.items():
        ends = {"but": "_but", "instead": "_instead", "now": "_now", "stand in": "", "": ""}
        names = [program.__name__ for program in claim.programs]
        wanted = ([id.lower()] if claim.program else []) + (
            [id.lower() + ends[claim.kind]] if claim.kind else []
        )
        assert names == wanted


def test_the_page_is_what_the_programs_say() -> None:
    assert ledger.PAGE.read_text(encoding="utf-8") == ledger.page(), BY_HAND


def test_no_two_sentences_are_the_same() -> None:
    said = Counter(
        sentence for c in CLAIMS.values() for sentence in (c.words, c.remark) if sentence
    )
    assert [sentence for sentence, times in said.items() if times > 1] == []


# --- the ledger itself can fail -------------------------------------------------------------------


def holds() -> bool:
    return True


def fails() -> bool:
    return False


def no_answer() -> bool:
    return 1  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def no_claims_of_tests_remain() -> object:
    before = dict(CLAIMS)
    yield
    CLAIMS.clear()
    CLAIMS.update(before)


@pytest.mark.parametrize(
    ("first", "kind", "second", "verdict"),
    [
        (holds, "", None, "true"),
        (holds, "but", holds, "needs nuance"),
        (fails, "instead", holds, "false"),
        (holds, "now", holds, "outdated"),
        (fails, "now", holds, "outdated"),
        (fails, "", None, "no instead() says what does"),
        (fails, "but", holds, "yet its program said False"),
        (holds, "but", fails, "what is added to it does not hold"),
        (holds, "instead", holds, "yet its program said True"),
        (fails, "instead", fails, "what is added to it does not hold"),
        (holds, "now", fails, "what is added to it does not hold"),
        (no_answer, "", None, "no_answer returned 1, expected True or False"),
    ],
)
def test_a_verdict_follows_from_the_programs(
    first: Program, kind: str, second: Program | None, verdict: str
) -> None:
    claims.claim("C999", "words", source="000")(first)
    if second:
        getattr(claims, kind)("C999", "remark")(second)
    if verdict in COUNTS:
        assert CLAIMS["C999"].verdict() == verdict
    else:
        with pytest.raises(NoProof) as caught:
            CLAIMS["C999"].verdict()
        assert verdict in str(caught.value)


def test_a_stand_in_is_run_and_proves_nothing_more() -> None:
    claims.not_testable("C998", "words", source="000", stand_in="remark")(holds)
    assert CLAIMS["C998"].verdict() == "not testable"
    claims.not_testable("C997", "words", source="000", stand_in="remark")(fails)
    with pytest.raises(NoProof, match="does not hold"):
        CLAIMS["C997"].verdict()


def test_a_claim_stands_there_once_and_with_one_remark() -> None:
    claims.claim("C999", "words", source="000")(holds)
    with pytest.raises(ValueError, match="C999 is there already"):
        claims.claim("C999", "words", source="000")(holds)
    claims.but("C999", "remark")(holds)
    with pytest.raises(ValueError, match="has a remark already"):
        claims.now("C999", "remark")(holds)


def test_programs_leave_seed_and_modes_alone_and_warnings_fail_them() -> None:
    def restless() -> bool:
        torch.rand(1)
        return torch.is_grad_enabled()

    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    with torch.no_grad():
        assert claims.run(restless)
    assert torch.equal(torch.rand(1), expected)
    with pytest.raises(UserWarning, match="not a leaf Tensor"):
        claims.run(lambda: (torch.ones(1, requires_grad=True) * 2).grad is None)


def test_the_ledger_shows_where_a_claim_is_taught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        books.Cell("b", "code", "1", ["C046"], "2. Copy"),
        books.Cell("d", "code", "2", ["C046"], "3. Cut"),
    ]
    book = books.Notebook(tmp_path / "07_x.ipynb", cells)
    monkeypatch.setattr(books, "notebooks", lambda: (book,))
    assert ledger.where(CLAIMS["C046"]) == "[07](../notebooks/07_x.ipynb) 2. Copy"
    assert ledger.where(CLAIMS["C047"]) == "(no cell yet)"
    assert ledger.where(CLAIMS["C048"]) == "here only"


def test_a_section_is_the_last_heading_above() -> None:
    cell = books.Cell("a", "markdown", "# One\n```\n# no heading\n```\ntext\n### 2. Two\nmore")
    assert cell.headings == [(1, "One"), (3, "2. Two")]
