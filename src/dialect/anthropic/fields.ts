import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, givesWay } from '../wire/field-table.ts'

const promptFields: readonly Field[] = [
  { name: 'model', treatment: 'used', note: 'an id or an alias; absent: the default model' },
  {
    name: 'messages',
    treatment: 'used',
    note: '`user`, `assistant` and, anywhere, `system`; a last assistant message is continued; results come before other content of their message; media by URL or file are refused',
  },
  { name: 'system', treatment: 'used', note: "text or text blocks; Claude Code's billing block is left out" },
  {
    name: 'tools',
    treatment: 'used',
    note: "the client's, also `bash_*`, `text_editor_*`, `memory_*`, `computer_*`; a deferred one is described where a `tool_reference` finds it; deferred ones before that are ignored and listed; `web_search_*`, `web_fetch_*`, `code_execution_*` and `mcp_toolset` run here for keys that may use [tools](tools.md); for others, they are refused, or left out and listed where agents declare them by habit: [strictness](strictness.md)",
  },
  {
    name: 'tool_choice',
    treatment: 'used',
    note: '`auto`, `any`, `tool`, `none`; `disable_parallel_tool_use`; a tool that is not run here is refused',
  },
  {
    name: 'thinking',
    treatment: 'used',
    note: '`enabled` with `budget_tokens`, `adaptive` (the template decides), `disabled`; absent is `disabled`; `display: omitted` leaves the text out',
  },
  {
    name: 'output_config',
    treatment: 'used',
    note: '`effort` is passed to the chat template, and switches adaptive thinking on; `format` is a JSON Schema',
  },
  { name: 'output_format', treatment: 'used', note: 'the old name of `output_config.format`' },
  { name: 'cache_control', treatment: 'informational', note: 'equal prefixes are reused without it' },
  {
    name: 'context_management',
    treatment: 'used',
    note: 'an edit with `keep: all`: the prompt keeps earlier thinking, where the chat template has the choice; nothing is removed from the conversation',
  },
  {
    name: 'mcp_servers',
    treatment: 'used',
    note: 'servers whose [tools](tools.md) run here, for keys that may use tools; without `url`, a server of the configuration; for others, refused',
  },
]

/** The fields of `POST /v1/messages/count_tokens`. */
export const countFields: readonly Field[] = promptFields

/** The fields of `POST /v1/messages`. */
export const messageFields: readonly Field[] = [
  ...promptFields,
  {
    name: 'max_tokens',
    treatment: 'used',
    note: `required, at least 1, or -1 for no limit; ${givesWay}`,
  },
  {
    name: 'stop_sequences',
    treatment: 'used',
    note: 'the one that ended the reply is its `stop_sequence`; those in reasoning do not count',
  },
  { name: 'stream', treatment: 'used', note: 'server-sent events' },
  { name: 'temperature', treatment: 'used', note: '0 to 2; above 1 is an extension' },
  { name: 'top_p', treatment: 'used', note: '0 to 1' },
  { name: 'top_k', treatment: 'used', note: '0 keeps every token' },
  { name: 'min_p', treatment: 'used', note: 'extension: 0 to 1' },
  { name: 'repetition_penalty', treatment: 'used', note: 'extension: above 0; 1 is off' },
  { name: 'presence_penalty', treatment: 'used', note: 'extension: -2 to 2' },
  { name: 'metadata', treatment: 'informational', note: "identifies the client's end user" },
  { name: 'service_tier', treatment: 'informational', note: 'there is one tier' },
  { name: 'speed', treatment: 'informational', note: 'there is one speed' },
  { name: 'inference_geo', treatment: 'informational', note: 'the server is where it is' },
  { name: 'diagnostics', treatment: 'informational', note: 'none are reported' },
  { name: 'user_profile_id', treatment: 'informational', note: 'there are no profiles' },
  { name: 'workspace_id', treatment: 'informational', note: 'there are no workspaces' },
  { name: 'container', treatment: 'used', note: 'the name of a folder that programs of several requests share' },
  {
    name: 'enable_tools',
    treatment: 'used',
    note: "extension: the server's [tools](tools.md), as many as the key may use; not beside tools of the client",
  },
  {
    name: 'enabled_tools',
    treatment: 'used',
    note: 'with `enable_tools`: only these, such as `web_search`, `python`, `terminal`',
  },
  ...cancelFields,
]
