import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, givesWay, informational, used } from '../wire/field-table.ts'

const promptFields: readonly Field[] = [
  used('model', 'an id or an alias; absent: the default model'),
  used(
    'messages',
    '`user`, `assistant` and, anywhere, `system`; a last assistant message is continued; results come before other content of their message; media by URL or file are refused',
  ),
  used('system', "text or text blocks; Claude Code's billing block is left out"),
  used(
    'tools',
    "the client's, also `bash_*`, `text_editor_*`, `memory_*`, `computer_*`; a deferred one is described where a `tool_reference` finds it; deferred ones before that are ignored and listed; `web_search_*`, `web_fetch_*`, `code_execution_*` and `mcp_toolset` run here for keys that may use [tools](tools.md); for others, they are refused, or left out and listed where agents declare them by habit: [strictness](reference/strictness.md)",
  ),
  used('tool_choice', '`auto`, `any`, `tool`, `none`; `disable_parallel_tool_use`; a tool that is not run here is refused'),
  used(
    'thinking',
    '`enabled` with `budget_tokens`, `adaptive` (the template decides), `disabled`; absent is `disabled`; `display: omitted` leaves the text out',
  ),
  used('output_config', '`effort` is passed to the chat template, and switches adaptive thinking on; `format` is a JSON Schema'),
  used('output_format', 'the old name of `output_config.format`'),
  informational('cache_control', 'equal prefixes are reused without it'),
  used(
    'context_management',
    'an edit with `keep: all`: the prompt keeps earlier thinking, where the chat template has the choice; nothing is removed from the conversation',
  ),
  used(
    'mcp_servers',
    'servers whose [tools](tools.md) run here, for keys that may use tools; without `url`, a server of the configuration; for others, refused',
  ),
]

/** The fields of `POST /v1/messages/count_tokens`. */
export const countFields: readonly Field[] = promptFields

export const messageFields: readonly Field[] = [
  ...promptFields,
  used('max_tokens', `required, at least 1, or -1 for no limit; ${givesWay}`),
  used('stop_sequences', 'the one that ended the reply is its `stop_sequence`; those in reasoning do not count'),
  used('stream', 'server-sent events'),
  used('temperature', '0 to 2; above 1 is an extension'),
  used('top_p', '0 to 1'),
  used('top_k', '0 and -1 keep every token'),
  used('min_p', 'extension: 0 to 1'),
  used('repetition_penalty', 'extension: above 0; 1 is off'),
  used('presence_penalty', 'extension: -2 to 2'),
  informational('metadata', "identifies the client's end user"),
  informational('service_tier', 'there is one tier'),
  informational('speed', 'there is one speed'),
  informational('inference_geo', 'the server is where it is'),
  used(
    'diagnostics',
    'how the prompt differs from that of `previous_message_id`, a reply of this key that the process remembers',
  ),
  informational('user_profile_id', 'there are no profiles'),
  informational('workspace_id', 'there are no workspaces'),
  used('container', 'the name of a folder that programs of several requests share'),
  used('enable_tools', "extension: the server's [tools](tools.md), as many as the key may use; not beside tools of the client"),
  used('enabled_tools', 'with `enable_tools`: only these, such as `web_search`, `python`, `terminal`'),
  ...cancelFields,
]
