"""What the canonical contract promises, and the test that would fail without it.

Each row names a promise in our own words and the tests that hold it. This file checks that the named tests
exist; that they hold is for the tests to show.
"""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

CONTRACT = {
    "every tool declares an output: schema, render, perhaps presentation metadata": [
        "tools/test_definition.py::test_a_wrong_tool_is_refused_with_what_is_missing",
    ],
    "registration refuses a missing declaration and a schema that cannot be enforced": [
        "tools/test_definition.py::test_a_wrong_tool_is_refused_with_what_is_missing",
        "tools/test_definition.py::test_a_registry_refuses_doubles_the_reserved_name_and_what_is_no_tool",
    ],
    "a function's types give parameter schema, output schema and both projections": [
        "tools/test_definition.py::test_a_function_becomes_a_tool_with_its_signature_as_schema",
    ],
    "the raw form takes JSON Schema and enforces it": [
        "tools/test_definition.py::test_raw_schemas_are_enforced_with_the_place",
    ],
    "what a body returns is its value, whatever it looks like; there is no way to return content": [
        "tools/test_pipeline.py::test_what_looks_like_content_is_a_value_as_any_other",
    ],
    "what a caller defines as the structured output of an agent has an object as its root": [
        "toolkits/test_structured.py::test_the_schema_is_the_callers_and_is_enforced",
    ],
    "any JSON value may be a tool's value, also a scalar, an array or null": [
        "tools/test_definition.py::test_a_typed_value_becomes_json",
    ],
    "a returned value is snapshotted: detached from what the body holds": [
        "test_values.py::test_a_frozen_value_is_detached_from_its_source",
    ],
    "it is lossless JSON, or the call fails": [
        "test_values.py::test_what_is_no_json_is_refused_with_its_place_and_a_cure",
        "tools/test_definition.py::test_a_value_that_is_not_as_declared_is_refused",
    ],
    "it is validated against the declared schema": [
        "tools/test_pipeline.py::test_whatever_a_body_raises_is_a_failure_with_its_own_message",
    ],
    "it is deeply frozen before anyone else sees it, and so are the arguments": [
        "tools/test_pipeline.py::test_hooks_see_frozen_arguments_and_values",
        "tools/test_pipeline.py::test_a_render_that_fails_is_an_output_error",
    ],
    "metadata is computed for direct calls": [
        "tools/test_pipeline.py::test_a_direct_call_ends_in_value_content_and_metadata",
    ],
    "and never for nested ones": [
        "tools/test_pipeline.py::test_a_nested_call_gets_no_metadata",
        "test_run_code.py::test_a_direct_call_gives_its_outcome_and_is_recorded_with_metadata",
    ],
    "failures of schema, render, metadata and losslessness are ordinary output errors": [
        "tools/test_pipeline.py::test_a_render_that_fails_is_an_output_error",
        "tools/test_pipeline.py::test_metadata_that_is_no_json_is_an_output_error",
    ],
    "an around hook receives and returns outcomes; its own success is made again": [
        "tools/test_pipeline.py::test_authored_content_and_metadata_of_a_foreign_success_are_ignored",
        "tools/test_pipeline.py::test_an_around_hook_may_retry_and_return_a_failure_of_its_own",
    ],
    "a cached success of another call is made again under the active declaration": [
        "tools/test_pipeline.py::test_a_cached_success_of_another_call_is_made_again_under_this_tool",
    ],
    "after the call, content and value are replaced apart, never both": [
        "tools/test_pipeline.py::test_replacing_the_value_checks_and_renders_again",
    ],
    "replaced content keeps value and metadata": [
        "tools/test_pipeline.py::test_replacing_content_keeps_value_and_metadata",
        "test_run_code.py::test_programs_and_direct_calls_go_through_the_same_hooks",
    ],
    "a replaced value is validated and both projections are made again": [
        "tools/test_pipeline.py::test_replacing_the_value_checks_and_renders_again",
    ],
    "a block removes the value and is a failure": [
        "tools/test_pipeline.py::test_blocking_removes_the_value",
    ],
    "values live while a call is executed and are stored nowhere": [
        "test_run_code.py::test_the_session_file_is_complete_when_the_run_has_returned_and_holds_no_value",
        "test_run_properties.py::test_every_start_has_exactly_one_end_inside_its_run",
    ],
    "a direct result stores content, error and metadata": [
        "test_run_code.py::test_a_direct_call_gives_its_outcome_and_is_recorded_with_metadata",
    ],
    "a nested call stores rendered content and whether it failed, nothing else": [
        "test_run_code.py::test_each_nested_call_is_recorded_once_at_start_and_end_without_its_value",
        "test_run_properties.py::test_every_start_has_exactly_one_end_inside_its_run",
    ],
    "long content is spilled for direct calls; a nested call's value is never cut": [
        "tools/test_spill.py::test_a_direct_call_shows_head_tail_size_and_where_the_whole_is",
        "tools/test_spill.py::test_a_nested_call_is_whole_for_the_program_and_short_in_the_log",
    ],
    "a tool's own last word on its content comes before long content is spilled, and policy before both": [
        "tools/test_pipeline.py::test_the_last_word_on_content_is_taken_once_for_successes_and_failures",
        "tools/test_policy_holds.py::test_what_one_hook_takes_out_of_the_stored_copy_spill_does_not_bring_back",
    ],
    "the value of run_code is its logs and, if there is one, its result": [
        "test_run_code.py::test_the_result_is_what_is_returned_or_the_last_expression",
    ],
    "a failure has one message and perhaps a code, and never a value": [
        "tools/test_pipeline.py::test_whatever_a_body_raises_is_a_failure_with_its_own_message",
        "test_run_code.py::test_a_failed_call_is_an_exception_at_the_call",
    ],
    "run_code declares no metadata; what it shows is its final content": [
        "test_run_code.py::test_a_direct_call_gives_its_outcome_and_is_recorded_with_metadata",
        "tools/test_spill.py::test_what_a_run_shows_is_stored_whole_too",
    ],
    "read gives path, offset, lines with numbers, and the number of all lines": [
        "toolkits/test_read.py::test_the_value_is_the_window_with_the_number_of_all_lines",
    ],
    "write says whether it created, and gives the text before and after; edit gives both texts": [
        "toolkits/test_write_and_edit.py::test_writing_creates_a_file_with_its_directories",
        "toolkits/test_write_and_edit.py::test_writing_replaces_a_file_and_returns_what_it_held",
        "toolkits/test_write_and_edit.py::test_an_edit_replaces_one_occurrence",
    ],
    "what a change looked like is derived from its value, for a user interface": [
        "toolkits/test_write_and_edit.py::test_a_rewrite_of_everything_has_bounded_metadata",
    ],
    "grep gives path, number and line of each match": ["toolkits/test_grep.py::test_the_value"],
    "glob gives paths": [
        "toolkits/test_glob.py::test_the_value_has_all_paths_of_which_a_model_is_shown_the_first",
    ],
    "bash gives a job, or how the command ended with the ends of both streams and where the whole is": [
        "toolkits/test_bash.py::test_the_value_has_both_streams_and_how_it_ended",
        "toolkits/test_bash.py::test_a_program_gets_the_same_value",
        "toolkits/test_bash.py::test_of_a_long_stream_the_end_is_in_the_value_and_the_whole_in_a_file",
        "toolkits/test_jobs.py::test_a_job_is_followed_to_its_end",
    ],
    "job tools give snapshots of tasks without owner or bookkeeping": [
        "toolkits/test_jobs.py::test_a_job_is_followed_to_its_end",
        "toolkits/test_jobs.py::test_jobs_are_listed",
        "toolkits/test_jobs.py::test_a_job_is_killed_with_all_it_started",
    ],
    "web_search gives normalised sources, and perhaps an answer in words": [
        "toolkits/web/test_search.py::test_one_query_is_the_providers_answer",
        "toolkits/web/test_search.py::test_several_queries_are_merged_the_best_of_each_first_without_doubles",
        "toolkits/web/test_search.py::test_searxng",
        "toolkits/web/test_search.py::test_brave",
        "toolkits/web/test_search.py::test_tavily",
    ],
    "web_fetch gives the page with its status, within bounds; a model sees Markdown": [
        "toolkits/web/test_fetch.py::test_the_value_is_the_page_as_it_is_and_a_model_sees_markdown",
        "toolkits/web/test_fetch.py::test_every_status_is_a_value",
        "toolkits/web/test_fetch.py::test_a_body_is_bounded_in_bytes",
        "toolkits/web/test_fetch.py::test_little_that_unpacks_to_much_is_stopped",
        "toolkits/web/test_fetch.py::test_time_is_bounded_also_against_one_who_trickles",
    ],
    "web_fetch reaches public addresses only, also over redirects and names that change": [
        "toolkits/web/test_reach.py::test_a_name_that_leads_to_it_is_refused_also_when_only_one_of_its_addresses_does",
        "toolkits/web/test_reach.py::test_a_redirect_into_it_is_refused",
        "toolkits/web/test_reach.py::test_a_name_is_resolved_once_and_the_connection_goes_to_the_checked_address",
        "toolkits/web/test_reach.py::test_tls_is_for_the_name_although_the_connection_goes_to_an_address",
    ],
    "lsp gives locations with the workspace they are in, or a hover": [
        "toolkits/lsp/test_basedpyright.py::test_a_real_server_answers_about_files_that_change",
        "toolkits/lsp/test_fake_server.py::test_the_value_and_what_is_shown",
        "toolkits/lsp/test_fake_server.py::test_many_places_are_all_in_the_value_and_the_first_hundred_shown",
        "toolkits/lsp/test_fake_server.py::test_nothing_of_a_server_outlives_the_block",
    ],
    "subagent gives a job, or the run and what the agent said, as content blocks": [
        "toolkits/agents/test_subagent.py::test_the_value_has_the_run_and_what_the_agent_said_last",
        "toolkits/agents/test_subagent.py::test_a_program_gets_the_same_value",
        "toolkits/agents/test_subagent.py::test_in_the_background_it_is_a_job_that_is_polled",
        "toolkits/agents/test_subagent.py::test_it_gets_its_callers_tools_and_never_more",
        "toolkits/agents/test_limits.py::test_the_depth_is_bounded",
    ],
    "workflow gives the run, how many agents it started, and what its program returned": [
        "toolkits/agents/test_workflow.py::test_the_value_is_what_the_program_returns_with_how_many_agents_it_started",
        "toolkits/agents/test_workflow.py::test_a_program_gets_the_same_value_and_one_agent_is_one",
        "toolkits/agents/test_workflow.py::test_agents_are_an_object_beside_the_tools_and_the_same_as_a_tool",
        "toolkits/agents/test_workflow.py::test_agents_are_bounded_in_number_and_depth",
    ],
    "ralph gives the run, how many agents it started, and how the last of them reported": [
        "toolkits/agents/test_ralph.py::test_it_ends_when_an_agent_reports_the_end",
        "toolkits/agents/test_ralph.py::test_a_program_gets_the_same_value",
        "toolkits/agents/test_ralph.py::test_rounds_are_bounded",
    ],
    "skill gives name, provider, where its files are, and the instructions": [
        "toolkits/test_skills.py::test_the_value_has_the_instructions_and_where_their_files_are",
        "toolkits/test_skills.py::test_no_link_leads_out",
    ],
    "todo_write gives the list and its counts, and keeps it in the session": [
        "toolkits/test_todo.py::test_the_value_has_the_list_and_its_counts_and_the_session_keeps_the_list",
    ],
    "ask_user_question gives an answer for each question": [
        "toolkits/test_questions.py::test_answers_come_with_the_ids_of_their_questions",
        "cli/test_toolkits.py::test_on_a_terminal_questions_are_asked_one_after_the_other",
    ],
    "exit_plan_mode gives that the plan is approved; until then nothing that changes things passes": [
        "toolkits/test_planning.py::test_only_what_declares_to_change_nothing_passes_until_the_plan_is_approved",
        "toolkits/test_planning.py::test_a_program_leaves_plan_mode_and_goes_on",
    ],
    "plugin tools give inspection text and typed handles; what was mounted leaves no trace": [
        "toolkits/test_plugins.py::test_a_file_is_mounted_called_and_unmounted_without_a_trace",
        "toolkits/test_plugins.py::test_an_entry_point_is_mounted_and_its_package_goes_with_it",
        "toolkits/test_plugins.py::test_without_approval_nothing_runs",
    ],
    "structured_output gives that it is recorded: once, and when everything around it has succeeded": [
        "toolkits/test_structured.py::test_a_direct_call_records_the_value_and_ends_everything_else",
        "toolkits/test_structured.py::test_what_fails_around_it_drops_the_value_and_it_can_be_given_again",
        "toolkits/test_structured.py::test_it_ends_the_turn_of_a_model_when_everything_around_it_has_succeeded",
    ],
    "terminal tools give snapshots, bounded reads and sends, outcomes of signals and closing, or a job": [
        "toolkits/test_terminal.py::test_a_shell",
        "toolkits/test_terminal.py::test_the_lines_that_were_shown_can_be_read",
        "toolkits/test_terminal.py::test_python_is_interrupted",
        "toolkits/test_terminal.py::test_waiting_goes_to_the_background",
        "toolkits/test_terminal.py::test_closing_ends_everything_in_it",
    ],
    "what policy keeps back from content only is still there for programs; a block is not": [
        "test_run_code.py::test_programs_and_direct_calls_go_through_the_same_hooks",
        "tools/test_policy_holds.py::test_a_call_that_is_cancelled_before_policy_has_seen_it_shows_and_stores_nothing",
    ],
    "replay rebuilds what was shown, and says that values cannot be": [
        "session/test_replay.py::test_calls_and_programs_are_shown_again_exactly_from_the_file_alone",
        "session/test_replay.py::test_values_and_metadata_of_nested_calls_are_nowhere_and_that_is_said",
    ],
    "what a tool can acquire bounds its value; what is only formatting bounds its rendering": [
        "toolkits/test_glob.py::test_the_value_has_all_paths_of_which_a_model_is_shown_the_first",
        "toolkits/test_grep.py::test_the_value_has_all_matches_of_which_a_model_is_shown_the_first",
    ],
    "an MCP tool's value is the protocol's content and, if there is some, its structured content": [
        "mcp/test_client.py::test_a_value_is_the_protocols_content_and_structured_content",
        "mcp/test_client.py::test_a_value_without_structured_content_has_none",
        "mcp/test_client.py::test_content_blocks_are_kept_as_they_came_whatever_they_are",
    ],
    "an output schema that an MCP server advertises is enforced where it can be": [
        "mcp/test_client.py::test_an_output_schema_is_enforced",
        "mcp/test_definitions.py::test_an_output_schema_is_enforced_inside_the_envelope",
    ],
    "one that cannot be enforced counts as any JSON, and nothing pretends to check it": [
        "mcp/test_definitions.py::test_an_output_schema_that_cannot_be_enforced_counts_as_any_json",
    ],
    "what is shown of an MCP tool is made of its content blocks": [
        "mcp/test_client.py::test_a_direct_call_shows_images_and_a_program_gets_their_data",
        "mcp/test_results.py::test_each_kind_of_block",
    ],
    "an MCP result that says isError is a failed call": [
        "mcp/test_client.py::test_a_result_that_says_error_raises_with_its_text",
    ],
}


def test_every_promise_names_tests_that_exist():
    missing = []
    for promise, tests in CONTRACT.items():
        assert tests, promise
        for each in tests:
            path, _, name = each.partition("::")
            if name not in names_in(TESTS / path):
                missing.append(each)
    assert missing == []


def names_in(path):
    if not path.exists():
        pytest.fail(f"{path.name} is named in the table and does not exist")
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if hasattr(node, "name")}
