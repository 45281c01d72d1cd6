import { refusedTools } from '../../../src/dialect/openai-responses/tool-schema.ts'
import type { StrictnessRow, StrictnessTable } from './row.ts'

const user = { role: 'user', content: 'hi' }
const text = { type: 'text', text: 'hi' }
const asked = { role: 'user', content: [text] }
const becomes = (...messages: readonly object[]) => ({ prompt: { messages } })
const input = (...items: readonly object[]) => ({ input: items })
const called = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }
const call = { type: 'tool-call', id: 'c1', name: 'f', input: '{}' }
const answered = { type: 'function_call_output', call_id: 'c1', output: 'hi' }
const result = { role: 'tool', toolCallId: 'c1', content: [text] }
const tool = { type: 'function', name: 'f', parameters: { type: 'object' } }

const items: readonly StrictnessRow[] = [
  {
    what: 'an empty input, or none, without instructions and history',
    sample: { input: [] },
    outcome: 'refused',
    param: 'input',
    note: 'nothing is asked',
  },
  {
    what: '… with `max_output_tokens` below 16',
    sample: { input: [], max_output_tokens: 1 },
    outcome: 'healed',
    becomes: becomes({ role: 'user', content: [{ type: 'text', text: '' }] }),
    note: 'an empty message: clients probe a model so',
  },
  { what: 'a message without `type`', sample: input(user), outcome: 'tolerated', becomes: becomes(asked), note: '' },
  {
    what: 'roles `system` and `developer`, also late',
    sample: { instructions: 'hi', ...input(user, { role: 'developer', content: 'hi' }) },
    outcome: 'tolerated',
    becomes: becomes({ role: 'system', content: [text] }, asked, { role: 'developer', content: [text] }),
    note: 'stay in their places',
  },
  {
    what: 'another role',
    sample: input({ role: 'critic', content: 'hi' }),
    outcome: 'refused',
    param: 'input[0].role',
    note: '',
  },
  {
    what: '`phase` and `status` of a message',
    sample: input({ ...user, phase: 'commentary', status: 'completed' }),
    outcome: 'tolerated',
    becomes: becomes(asked),
    note: 'no effect on the prompt',
  },
  {
    what: 'a message of an agent to another: `agent_message`, as Codex sends it',
    sample: input({ type: 'agent_message', author: '/root', content: [{ type: 'input_text', text: 'hi' }] }),
    outcome: 'tolerated',
    becomes: becomes(asked),
    note: "a user's turn; what another server encrypted of it is left out and listed",
  },
  {
    what: 'another item with `role` and `content`',
    sample: input({ type: 'note', ...user }),
    outcome: 'tolerated',
    becomes: becomes(asked),
    note: 'a message',
  },
  {
    what: 'a call of a tool that OpenAI defines, and its result',
    sample: input(
      { type: 'local_shell_call', call_id: 'c1', action: {} },
      { type: 'local_shell_call_output', call_id: 'c1', output: 'hi' },
    ),
    outcome: 'tolerated',
    becomes: becomes({ role: 'assistant', parts: [{ ...call, name: 'local_shell', input: '{"action":{}}' }] }, result),
    note: 'also `shell`, `apply_patch`, `computer`, `program`, and later ones with `call_id`',
  },
  {
    what: "an item of a tool on OpenAI's servers without its result, or of an unknown type",
    sample: input(user, { type: 'web_search_call', id: 'ws_1' }),
    outcome: 'tolerated',
    becomes: becomes(asked),
    ignored: ['input[1]'],
    note: 'left out',
  },
  {
    what: 'an input of which nothing is left',
    sample: input({ type: 'web_search_call', id: 'ws_1' }),
    outcome: 'refused',
    param: 'input',
    note: '',
  },
  {
    what: 'tools in the input: `additional_tools`',
    sample: input({ type: 'additional_tools', role: 'developer', tools: [tool] }, user),
    outcome: 'tolerated',
    becomes: { prompt: { messages: [asked], tools: [{ name: 'f', parameters: { type: 'object' } }] } },
    note: 'declared like those of the request',
  },
  {
    what: "a search for tools on OpenAI's servers",
    sample: input(user, { type: 'tool_search_call', execution: 'server', call_id: null, arguments: {} }),
    outcome: 'tolerated',
    becomes: becomes(asked),
    ignored: ['input[1]'],
    note: 'left out; one of the client is a call',
  },
  {
    what: "the assistant's items in a row",
    sample: input(user, { role: 'assistant', content: 'hi' }, called),
    outcome: 'healed',
    becomes: becomes(asked, { role: 'assistant', parts: [text, call] }),
    note: 'one turn, in their order',
  },
  {
    what: 'reasoning that another server encrypted',
    sample: input(user, { type: 'reasoning', summary: [], encrypted_content: 'gAAA' }),
    outcome: 'healed',
    becomes: becomes(asked),
    ignored: ['input[1]'],
    note: 'left out',
  },
  {
    what: 'a compaction that another server made',
    sample: input({ type: 'compaction', encrypted_content: 'gAAA' }, user),
    outcome: 'refused',
    param: 'input[0].encrypted_content',
    note: 'the conversation before it would be lost',
  },
  {
    what: 'an item reference to nothing',
    sample: input({ type: 'item_reference', id: 'msg_1' }),
    outcome: 'refused',
    param: 'input[0].id',
    note: '',
  },
]

const parts: readonly StrictnessRow[] = [
  {
    what: 'a part of an unknown type',
    sample: input({ role: 'user', content: [{ type: 'hologram' }] }),
    outcome: 'refused',
    param: 'input[0].content[0].type',
    note: "nothing of the user's is lost",
  },
  {
    what: '`input_file`',
    sample: input({ role: 'user', content: [{ type: 'input_file', file_id: 'x' }] }),
    outcome: 'tolerated',
    becomes: becomes({ role: 'user', content: [{ type: 'media', kind: 'file', source: { type: 'file', id: 'x' } }] }),
    note: 'by `file_id`, `file_url` or `file_data`; few models read documents',
  },
  {
    what: 'an image by URL',
    sample: input({ role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/a.png' }] }),
    outcome: 'tolerated',
    becomes: becomes({
      role: 'user',
      content: [{ type: 'media', kind: 'image', source: { type: 'url', url: 'https://a.example/a.png' } }],
    }),
    note: 'fetched here, by the rules of [media](../media.md)',
  },
  {
    what: 'an unknown `detail`',
    sample: input({ role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/a.png', detail: 'huge' }] }),
    outcome: 'refused',
    param: 'input[0].content[0].detail',
    note: '`auto`, `low`, `high` and `original` are known',
  },
  {
    what: 'an image by the id of a file',
    sample: input({ role: 'user', content: [{ type: 'input_image', file_id: 'x' }] }),
    outcome: 'tolerated',
    becomes: becomes({ role: 'user', content: [{ type: 'media', kind: 'image', source: { type: 'file', id: 'x' } }] }),
    note: 'one of this server',
  },
]

const callsAndResults: readonly StrictnessRow[] = [
  {
    what: 'a call without arguments: null, absent, an empty text, the text `null`, or `[]`',
    sample: input({ ...called, arguments: [] }),
    outcome: 'healed',
    becomes: becomes({ role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'f', input: '{}' }] }),
    note: '`{}`',
  },
  {
    what: 'arguments that are an object',
    sample: input({ ...called, arguments: { a: 1 } }),
    outcome: 'healed',
    becomes: becomes({ role: 'assistant', parts: [{ ...call, input: '{"a":1}' }] }),
    note: 'its JSON',
  },
  {
    what: 'an output without its call',
    sample: input(user, answered),
    outcome: 'refused',
    param: 'input[1].call_id',
    note: 'a response that was continued has both',
  },
  {
    what: 'an output that is a list of parts',
    sample: input(called, { ...answered, output: [{ type: 'input_text', text: 'hi' }] }),
    outcome: 'tolerated',
    becomes: becomes({ role: 'assistant', parts: [call] }, result),
    note: 'also with images',
  },
  {
    what: 'a call without `call_id`',
    sample: input({ type: 'function_call', name: 'f', arguments: '{}' }),
    outcome: 'refused',
    param: 'input[0].call_id',
    note: '',
  },
  {
    what: 'calls without outputs',
    sample: input(called, user),
    outcome: 'tolerated',
    becomes: becomes({ role: 'assistant', parts: [call] }, asked),
    note: 'the user went on',
  },
]

const toolsAndOptions: readonly StrictnessRow[] = [
  ...['web_search', 'image_generation', 'a_later_tool'].map(
    (type): StrictnessRow => ({
      what: type === 'a_later_tool' ? 'a tool of an unknown type beside a function' : `\`${type}\` beside a function`,
      sample: { tools: [tool, { type }] },
      outcome: 'tolerated',
      becomes: { prompt: { tools: [{ name: 'f' }] } },
      ignored: [`tools[1].${type}`],
      note: 'the model does not have it; Codex and others always declare some',
    }),
  ),
  {
    what: '… without a tool that the model can call',
    sample: { tools: [{ type: 'web_search' }] },
    outcome: 'refused',
    param: 'tools[0].type',
    note: 'the caller relies on it',
  },
  ...[...refusedTools].map(
    (type): StrictnessRow => ({
      what: `\`${type}\``,
      sample: { tools: [tool, { type, server_label: 'docs' }] },
      outcome: 'refused',
      param: 'tools[1].type',
      note: 'not run here; a function of the caller can do it',
    }),
  ),
  {
    what: 'a function without a name',
    sample: { tools: [{ type: 'function', parameters: {} }] },
    outcome: 'refused',
    param: 'tools[0].name',
    note: '',
  },
  {
    what: 'a choice of a tool that is not run here',
    sample: { tools: [tool], tool_choice: { type: 'web_search' } },
    outcome: 'refused',
    param: 'tool_choice',
    note: '',
  },
  {
    what: 'an empty list for an object of a schema: `properties: []`',
    sample: { tools: [{ ...tool, parameters: { type: 'object', properties: [] } }] },
    outcome: 'healed',
    becomes: { prompt: { tools: [{ name: 'f', parameters: { type: 'object', properties: {} } }] } },
    note: 'PHP writes an empty object so; also of `text.format`',
  },
  {
    what: 'an empty `text.format`',
    sample: { text: { format: {} } },
    outcome: 'tolerated',
    becomes: { output: { type: 'text' } },
    note: 'the same as leaving it out',
  },
  { what: 'two tools of one name', sample: { tools: [tool, tool] }, outcome: 'refused', param: 'tools[1].name', note: '' },
  {
    what: '`tool_choice: required` without tools',
    sample: { tool_choice: 'required' },
    outcome: 'refused',
    param: 'tool_choice',
    note: '',
  },
  {
    what: '`tool_choice: auto` without tools',
    sample: { tool_choice: 'auto' },
    outcome: 'tolerated',
    becomes: { toolChoice: { type: 'auto' } },
    note: 'clients always send it',
  },
  {
    what: 'null for an optional field',
    sample: { instructions: null, tools: null, text: null },
    outcome: 'tolerated',
    becomes: becomes(asked),
    note: 'the same as leaving it out',
  },
  { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
]

/** How Responses are read. */
export const responseStrictness: StrictnessTable = {
  title: 'OpenAI Responses',
  base: { model: 'm', input: 'hi' },
  rows: [...items, ...parts, ...callsAndResults, ...toolsAndOptions],
}
