"""The question on screen depends on its session alone; a repeat comes later, with its sides swapped."""

from podium.labelling import JudgingEvent, PreferenceTask, Session
from podium.labelling.screen_questions import current_question

TASK = PreferenceTask("s", "q", "ann", tuple("cabfedhg"), k=4)


def judge_all(repeats, gap):
    """Answer every question with the left document; return the questions asked and the events."""
    session, questions, events = Session(TASK), [], []
    while (question := current_question(session, repeats, gap)) is not None:
        data = question.event_fields | {"answer": ">"}
        events.append(JudgingEvent(f"e{len(events)}", "s", "judgment", 0, data))
        questions.append(question)
        session.apply(events[-1])
    return questions, events


def test_a_session_without_repeats_asks_each_pair_once():
    questions, _ = judge_all(0.0, 1)
    pairs = [frozenset(question.documents) for question in questions]
    assert len(set(pairs)) == len(pairs) > 5
    assert not any(question.repeat for question in questions)


def test_a_repeat_swaps_the_sides_of_an_old_question():
    gap = 3
    questions, _ = judge_all(0.5, gap)
    first_shown = {q.documents: q.judged for q in questions if not q.repeat}
    repeats = [question for question in questions if question.repeat]
    assert len(repeats) >= 2
    assert len({question.documents for question in repeats}) == len(repeats)
    for repeat in repeats:
        left, right = repeat.documents
        assert repeat.judged - first_shown[right, left] > gap


def test_a_replayed_session_asks_the_same_question():
    questions, events = judge_all(0.5, 1)
    for place, question in enumerate(questions):
        session = Session.replay(TASK, events[:place])
        assert current_question(session, 0.5, 1) == question
