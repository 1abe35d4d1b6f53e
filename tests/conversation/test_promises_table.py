"""What is promised of conversations, and the tests that would fail without it.

Each row names an expectation, an example of how it is done wrong, or a trap, in our own words, and the tests that
hold it. This file checks that the named tests exist; that they hold is for the tests to show. The promises about
values of tools are in `test_contract_table.py`.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

PAIRS = "conversation/test_pairing.py::"
BACK = "conversation/test_requests.py::"
CUT_SHORT = "conversation/test_unfinished_answers.py::"
STREAMS = "conversation/test_streams.py::"
OPENAI = "conversation/test_openai.py::"
LISTS = "conversation/test_three_lists.py::"
KEPT = "conversation/test_envelopes.py::"
TURNS = "agent/test_turns.py::"
CALLS = "agent/test_calls.py::"
RETRIES = "agent/test_retries.py::"
STOPPED = "agent/test_interruption.py::"
BOUNDS = "agent/test_bounds.py::"
STORED = "agent/test_stored_history.py::"
CRASH = "agent/test_crash.py::"
WIRE = "agent/test_providers.py::"
TASK = "agent/test_whole_task.py::"
CHAT = "cli/test_chat.py::"

PROMISES = {
    # ------------------------------------------------------------------ blocks, and pairs of calls and results
    "a turn is a list of typed blocks, each kept as it came": [
        STREAMS + "test_a_complete_answer_is_a_turn_with_every_block_as_it_came",
        STREAMS + "test_whatever_comes_whole_is_kept_whole",
        OPENAI + "test_a_complete_response_is_a_turn_with_every_item_as_it_came",
    ],
    "every call is answered by a result with its id in the very next user turn": [
        PAIRS + "test_two_calls_are_answered_together_in_the_next_user_turn",
        PAIRS + "test_a_request_over_any_history_is_valid_by_an_independent_judge",
        CRASH + "test_any_conversation_is_kept_as_it_came_and_every_request_of_it_is_valid",
    ],
    "a result that is skipped, has another id or comes in a later turn is refused, before anything is sent": [
        PAIRS + "test_a_violation_names_the_ids_and_the_turns_and_no_request_is_built",
        PAIRS + "test_a_history_that_was_damaged_is_refused_whenever_the_judge_refuses_it",
    ],
    "wrong: the results of one turn are split over two user turns": [
        PAIRS + "test_a_violation_names_the_ids_and_the_turns_and_no_request_is_built",
        PAIRS + "test_the_judge_finds_what_it_is_for",
    ],
    "it is held by structure on every request, whatever the model was told": [
        PAIRS + "test_a_request_over_any_history_is_valid_by_an_independent_judge",
        STORED + "test_a_history_with_calls_that_were_never_answered_is_not_gone_on_from",
        TASK + "test_a_host_that_is_killed_again_and_again_ends_right",
    ],
    "an id that one turn uses twice is found": [
        PAIRS + "test_a_violation_names_the_ids_and_the_turns_and_no_request_is_built",
        RETRIES + "test_an_answer_that_uses_an_id_twice_is_dropped",
    ],
    "what a crash or a cancellation leaves open is closed with an honest error": [
        PAIRS + "test_an_interrupted_batch_is_closed_with_honest_errors_in_the_order_of_the_calls",
        PAIRS + "test_a_call_that_nobody_answered_at_all_is_closed_in_a_turn_of_its_own",
        CRASH + "test_a_crash_after_any_event_leaves_a_conversation_that_goes_on",
        STOPPED + "test_cancelled_while_tools_run_every_call_has_its_result",
    ],
    "a stored history in which a result is missing, doubled, elsewhere or of another call is not gone on from": [
        STORED + "test_a_log_that_was_edited_is_not_gone_on_from_and_what_is_wrong_is_named",
        STORED + "test_a_history_with_calls_that_were_never_answered_is_not_gone_on_from",
    ],
    "fields beside those of its format change neither the id nor the input of a call": [
        LISTS + "test_fields_that_a_call_has_beside_those_of_its_format_say_nothing_of_it",
    ],
    # ------------------------------------------------------------------------------------- thinking goes back
    "signed thinking goes back byte for byte, with its signature, in its place": [
        BACK + "test_thinking_goes_back_byte_for_byte_in_its_place_with_every_field_that_came",
        WIRE + "test_what_goes_back_over_the_wire_is_byte_for_byte_what_came",
    ],
    "wrong: thinking is summarized, rewritten, moved or dropped; that is an error here": [
        BACK + "test_touching_a_turn_of_the_model_is_an_error_here",
        BACK + "test_a_turn_cannot_be_changed_in_place",
    ],
    "encrypted thinking follows the same rule, although nobody can read it": [
        BACK + "test_touching_a_turn_of_the_model_is_an_error_here",
        BACK + "test_thinking_goes_back_byte_for_byte_in_its_place_with_every_field_that_came",
    ],
    "context is saved over the conversation as a whole, never inside a block": [
        BACK + "test_context_is_saved_by_leaving_out_whole_exchanges",
        BOUNDS + "test_exchanges_are_left_out_whole_and_stay_in_the_session",
        BOUNDS + "test_forgetting_begins_anew",
    ],
    # ------------------------------------------------------------------------------------------------ streams
    "the input of a call is parsed when its block has ended, and not at its first delta": [
        STREAMS + "test_the_input_of_a_call_is_parsed_at_its_stop_and_not_before",
        STREAMS + "test_a_call_is_shown_when_its_block_has_ended_and_is_whole",
    ],
    "wrong: input that parses by chance before its end is taken for the whole": [
        STREAMS + "test_valid_json_that_goes_on_is_not_taken_for_the_whole",
        CUT_SHORT + "test_a_bound_of_tokens_inside_a_call_is_no_turn_even_if_its_input_parses",
    ],
    "a turn is complete when the message has stopped, not when reading has": [
        STREAMS + "test_a_stream_that_ends_after_any_event_but_the_last_is_no_turn",
        STREAMS + "test_a_stream_cut_at_any_byte_gives_the_whole_turn_or_none",
        OPENAI + "test_a_stream_cut_at_any_byte_gives_the_whole_turn_or_none",
        WIRE + "test_a_connection_cut_at_any_byte_gives_no_turn",
    ],
    "nothing of an answer is acted on before the message has stopped": [
        RETRIES + "test_a_dropped_stream_leaves_nothing_and_the_same_request_is_sent_again",
    ],
    "bytes give the same events wherever they are cut, also inside a character or a line end": [
        "conversation/test_sse.py::test_the_same_cut_at_every_byte",
        "conversation/test_sse.py::test_line_ends_make_no_difference",
        STREAMS + "test_a_character_cut_into_surrogates_is_whole_again_and_half_a_one_is_refused",
    ],
    "an answer that never ends, in size or in time, has an end": [
        "conversation/test_sse.py::test_an_event_without_an_end_is_refused_at_its_bound",
        WIRE + "test_an_answer_that_stalls_is_given_up_after_its_time",
        WIRE + "test_signs_of_life_alone_are_not_waited_on_for_ever",
        RETRIES + "test_a_provider_that_asks_for_too_long_a_wait_is_not_waited_for",
    ],
    "a partial turn is discarded, and the same request is sent again from the last complete one": [
        RETRIES + "test_a_dropped_stream_leaves_nothing_and_the_same_request_is_sent_again",
        STOPPED
        + "test_cancelled_while_the_model_answers_the_partial_turn_is_dropped_and_the_conversation_goes_on",
    ],
    "wrong: a half-built block stays in history, and a later request fails for it": [
        RETRIES + "test_a_dropped_stream_leaves_nothing_and_the_same_request_is_sent_again",
        CRASH + "test_a_crash_after_any_event_leaves_a_conversation_that_goes_on",
        TASK + "test_a_task_with_a_program_parallel_tools_an_approval_a_cut_stream_and_a_crash_ends_right",
    ],
    "what is wrong far back is named with its turn, not met as an error elsewhere": [
        PAIRS + "test_a_violation_names_the_ids_and_the_turns_and_no_request_is_built",
        STORED + "test_a_stored_turn_that_lost_a_block_is_not_gone_on_from",
    ],
    "events out of order, repeated, unknown or in error have defined ends": [
        STREAMS + "test_events_that_do_not_belong_together_end_the_stream",
        STREAMS + "test_lost_repeated_and_exchanged_events_give_what_was_sent_or_nothing",
        STREAMS + "test_pings_and_events_of_unknown_types_change_nothing_wherever_they_come",
        STREAMS + "test_an_error_event_ends_the_stream_and_says_whether_to_try_again",
        STREAMS + "test_interleaved_blocks_stand_in_the_order_of_their_indices",
        STREAMS + "test_what_comes_after_the_end_changes_nothing",
        OPENAI + "test_an_item_that_began_and_never_ended_is_missed_also_where_the_response_lists_none",
        OPENAI + "test_events_that_come_twice_or_in_another_order_change_nothing_and_lost_items_are_missed",
    ],
    "whatever comes or is stored is a turn or an error that says so": [
        "conversation/test_garbage.py::test_a_spoiled_stream_is_a_turn_or_an_error_that_says_so",
        "conversation/test_garbage.py::test_a_spoiled_message_is_a_turn_or_says_what_is_missing",
        "conversation/test_garbage.py::test_a_history_takes_whatever_a_log_may_hold",
    ],
    "a bound of tokens inside a call calls nothing and keeps nothing": [
        CUT_SHORT + "test_a_bound_of_tokens_inside_a_call_is_no_turn_even_if_its_input_parses",
        BOUNDS + "test_an_answer_cut_inside_a_call_calls_nothing_and_is_not_kept",
        OPENAI + "test_a_bound_of_tokens_inside_a_call_is_no_turn_and_inside_text_is_one_that_says_so",
    ],
    "no complete answer makes a history that its provider refuses": [
        OPENAI + "test_a_request_over_any_history_is_valid_by_an_independent_judge",
        OPENAI + "test_a_bound_of_tokens_after_reasoning_that_nothing_follows_is_no_turn",
        BACK + "test_a_turn_that_says_nothing_is_kept_and_passed_over_whole",
        BACK + "test_blank_text_is_kept_and_does_not_come_back",
        BACK + "test_a_result_goes_as_the_api_takes_it",
        CUT_SHORT + "test_a_bound_of_tokens_after_what_has_to_be_followed_by_something_is_no_turn",
        CUT_SHORT + "test_a_refusal_inside_a_call_is_not_asked_for_again",
        CUT_SHORT + "test_input_that_came_whole_with_the_start_of_its_block_is_an_object_too",
        TURNS + "test_a_turn_that_says_nothing_is_over_and_spoils_no_later_one",
    ],
    # --------------------------------------------------------------------------------------------- three lists
    "what converters produce, what messages carry and the way between stay in step": [
        LISTS + "test_the_three_lists_are_in_step",
        LISTS + "test_every_class_of_a_result_is_in_the_union_and_every_block_is_carried_by_a_message",
    ],
    "adding to one of them alone fails a test beside the mapping, and type checking": [
        LISTS + "test_a_result_that_grows_alone_is_found",
        LISTS + "test_a_block_that_grows_alone_is_found",
        LISTS + "test_an_arm_that_grows_alone_is_found",
        LISTS + "test_type_checking_fails_when_a_result_or_a_block_grows_alone",
    ],
    "what is no content is named on purpose: vectors, objects, binaries, rankings, choices": [
        LISTS + "test_what_is_no_content_is_named_on_purpose_and_refused_by_name",
    ],
    "wrong: every result has to be mapped, or the lists have to be equal": [
        LISTS + "test_what_is_no_content_is_named_on_purpose_and_refused_by_name",
        LISTS + "test_input_only_blocks_need_no_result",
    ],
    "wrong: a result exists that cannot become part of a message": [
        LISTS + "test_a_call_of_a_custom_tool_can_become_part_of_a_message",
        OPENAI + "test_a_custom_call_is_answered_in_its_own_kind",
    ],
    "trap: what is forgotten breaks behind the converter, in the message or on the way back": [
        LISTS + "test_every_type_goes_the_whole_way_from_an_answer_to_the_next_request",
    ],
    "wrong: a feature is asked for whose blocks the converter drops silently": [
        LISTS + "test_a_converter_has_a_result_for_every_type_and_drops_none",
        LISTS + "test_web_search_results_are_kept_by_both_converters",
    ],
    # ----------------------------------------------------------------------------------------------- envelopes
    "the whole answer is stored, and taken up equal": [
        KEPT + "test_what_was_stored_is_taken_up_equal_and_the_call_keeps_its_id",
        KEPT + "test_any_answer_survives_storage_and_any_loss_is_noticed",
        OPENAI + "test_a_stored_turn_is_taken_up_equal_and_a_lost_item_is_named",
    ],
    "the log shows what was said, and keeps all of it": [
        "session/test_message_lines.py::test_an_answer_is_its_text_with_marks_for_the_rest",
        "cli/test_log.py::test_json_holds_the_same_exactly",
    ],
    "display extracts text only and reduces nothing that is stored": [
        KEPT + "test_display_takes_the_text_only_and_takes_nothing_away",
    ],
    "a result refers to the id of its call, and to no other": [
        KEPT + "test_what_was_stored_is_taken_up_equal_and_the_call_keeps_its_id",
        PAIRS + "test_a_violation_names_the_ids_and_the_turns_and_no_request_is_built",
    ],
    "a removed block is an explicit incomplete state": [
        KEPT + "test_a_removed_block_is_an_incomplete_state_that_names_it",
        CUT_SHORT + "test_thinking_without_its_signature_is_incomplete_and_says_so",
        LISTS + "test_what_a_block_cannot_go_back_without_is_missed_by_name",
        STORED + "test_a_stored_turn_that_lost_a_block_is_not_gone_on_from",
    ],
    "wrong: only the text is saved, and the rest is rebuilt from it": [
        KEPT + "test_a_summary_is_no_state_to_go_on_from",
    ],
    "wrong: an id is invented, or opaque content is": [
        KEPT + "test_what_was_changed_or_is_missing_is_said_and_never_made_up",
    ],
    "wrong: types that are not known are discarded silently": [
        KEPT + "test_a_block_of_an_unknown_type_is_kept",
        CUT_SHORT + "test_a_delta_that_cannot_be_applied_is_incomplete_and_not_dropped_silently",
    ],
    "what retention drops goes whole; nothing is kept for completeness' sake": [
        STORED + "test_what_retention_drops_goes_whole_and_the_rest_goes_on",
    ],
    "what one provider sent goes to no other": [
        BACK + "test_what_a_provider_would_refuse_is_refused_here",
        WIRE + "test_a_turn_of_another_provider_is_not_sent",
        STORED + "test_a_conversation_with_another_provider_is_a_problem_before_anything_is_said",
    ],
    # ------------------------------------------------------------------------------------------------ the loop
    "requests are built from the session alone": [
        TURNS + "test_a_turn_goes_on_until_the_model_has_its_last_word",
        CRASH + "test_any_conversation_is_kept_as_it_came_and_every_request_of_it_is_valid",
    ],
    "calls run under the registry's scheduling, and results go back in the model's order": [
        CALLS + "test_parallel_calls_overlap_and_their_results_go_back_in_the_models_order",
        CALLS + "test_an_exclusive_call_runs_alone",
    ],
    "contexts of outcomes come after all results": [
        CALLS + "test_contexts_of_outcomes_come_after_all_results_in_the_order_of_the_calls",
    ],
    "with mode code the model sees run_code and the signatures": [
        CALLS + "test_in_mode_code_the_model_sees_run_code_and_the_signatures_and_its_programs_run",
    ],
    "retries wait longer and longer, and as long as the provider asks": [
        RETRIES + "test_waits_grow_and_follow_the_provider",
        RETRIES + "test_what_would_fail_again_is_not_tried_again",
        RETRIES + "test_after_all_attempts_the_turn_ends_as_an_error_and_the_message_stays",
    ],
    "a turn has bounds of steps and of tokens": [
        BOUNDS + "test_a_bound_of_steps_ends_the_turn_and_the_conversation_can_go_on",
        BOUNDS + "test_a_bound_of_tokens_ends_the_turn",
    ],
    "providers are met through their real SDKs: cut, delayed, repeated, refused, unreachable": [
        WIRE + "test_a_connection_cut_at_any_byte_gives_no_turn",
        WIRE + "test_the_same_over_the_other_api",
        WIRE + "test_pieces_of_any_size_and_what_is_played_twice_give_the_same_turn",
        WIRE + "test_an_answer_that_is_delayed_is_waited_for",
        WIRE + "test_a_refusal_says_what_and_whether_to_try_again",
        WIRE + "test_nobody_there_is_an_error_that_may_pass",
    ],
    "on a terminal calls are approved, turns are stopped, and a conversation is gone on with": [
        CHAT + "test_on_a_terminal_calls_are_approved_and_a_turn_can_be_stopped",
        CHAT + "test_while_a_question_stands_nothing_else_is_shown_and_calls_are_told_apart",
        CHAT + "test_an_interrupt_at_the_prompt_ends_the_chat_with_its_log_complete",
        CHAT + "test_a_session_is_gone_on_with_also_where_a_turn_did_not_come_to_its_end",
    ],
    "a task of several turns, with all of this and a crash in the middle, ends right": [
        TASK + "test_a_task_with_a_program_parallel_tools_an_approval_a_cut_stream_and_a_crash_ends_right",
        TASK + "test_a_host_that_is_killed_again_and_again_ends_right",
    ],
}


def test_every_promise_names_tests_that_exist():
    missing = []
    for promise, tests in PROMISES.items():
        assert tests, promise
        for each in tests:
            path, _, name = each.partition("::")
            if name not in names_in(TESTS / path):
                missing.append(each)
    assert missing == []


@functools.cache
def names_in(path: Path) -> set[str]:
    if not path.exists():
        pytest.fail(f"{path.name} is named in the table and does not exist")
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, _NAMED)}


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef)
