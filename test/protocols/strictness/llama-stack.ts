import type { StrictnessRow, StrictnessTable } from './row.ts'

const user = { role: 'user', content: 'hi' }
const text = { type: 'text', text: 'hi' }
const asked = { role: 'user', content: [text] }
const becomes = (...messages: readonly object[]) => ({ prompt: { messages } })
const say = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const called = {
  role: 'assistant',
  content: '',
  stop_reason: 'end_of_turn',
  tool_calls: [{ call_id: 'c1', tool_name: 'f', arguments: '{}' }],
}
const calls = { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'f', input: '{}' }] }
const result = { role: 'tool', call_id: 'c1', content: 'hi' }
const tool = { tool_name: 'f' }

const messages: readonly StrictnessRow[] = [
  {
    what: 'another role, such as `developer`',
    sample: { messages: [{ role: 'developer', content: 'hi' }] },
    outcome: 'refused',
    param: 'messages[0].role',
    note: '',
  },
  { what: 'no messages', sample: { messages: [] }, outcome: 'refused', param: 'messages', note: '' },
  {
    what: 'turns of one role in a row',
    sample: { messages: [user, user] },
    outcome: 'tolerated',
    becomes: becomes(asked, asked),
    note: 'merged for templates whose turns must alternate',
  },
  { what: 'one item instead of a list', sample: say(text), outcome: 'healed', becomes: becomes(asked), note: 'the same' },
  {
    what: 'an item of an unknown type',
    sample: say([{ type: 'hologram' }]),
    outcome: 'refused',
    param: 'messages[0].content[0].type',
    note: "nothing of the user's is lost",
  },
  {
    what: 'an image by URL',
    sample: say([{ type: 'image', image: { url: { uri: 'https://a.example/a.png' } } }]),
    outcome: 'tolerated',
    becomes: becomes({
      role: 'user',
      content: [{ type: 'media', kind: 'image', source: { type: 'url', url: 'https://a.example/a.png' } }],
    }),
    note: 'fetched here, by the rules of [media](../media.md)',
  },
  {
    what: 'an assistant message without `stop_reason`',
    sample: { messages: [user, { role: 'assistant', content: 'hi' }, user] },
    outcome: 'tolerated',
    becomes: becomes(asked, { role: 'assistant', parts: [text] }, asked),
    note: '',
  },
  {
    what: 'a call without `arguments`: null, absent, an empty text, the text `null`, or `[]`',
    sample: { messages: [{ ...called, tool_calls: [{ call_id: 'c1', tool_name: 'f', arguments: [] }] }] },
    outcome: 'healed',
    becomes: becomes({ role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'f', input: '{}' }] }),
    note: '`{}`',
  },
  {
    what: 'a call whose `arguments` are an object',
    sample: { messages: [{ ...called, tool_calls: [{ call_id: 'c1', tool_name: 'f', arguments: {} }] }] },
    outcome: 'healed',
    becomes: becomes(calls),
    note: 'its JSON, or `arguments_json` where it is there',
  },
  {
    what: 'a result with its call',
    sample: { messages: [called, result] },
    outcome: 'tolerated',
    becomes: becomes(calls, { role: 'tool', toolCallId: 'c1', content: [text] }),
    note: '',
  },
  {
    what: 'a result whose call is not there',
    sample: { messages: [user, result] },
    outcome: 'tolerated',
    becomes: becomes(asked, { role: 'tool', toolCallId: 'c1' }),
    note: 'clients cut long histories; a template that drops it gets it as text of the user',
  },
  {
    what: 'a result without `call_id`',
    sample: { messages: [called, { role: 'tool', content: 'hi' }] },
    outcome: 'refused',
    param: 'messages[1].call_id',
    note: '',
  },
  {
    what: 'an unknown field in a message',
    sample: { messages: [{ ...user, mood: 'good' }] },
    outcome: 'tolerated',
    becomes: becomes(asked),
    ignored: ['messages[].mood'],
    note: '',
  },
]

const toolsAndOptions: readonly StrictnessRow[] = [
  {
    what: 'an empty list for `parameters` of a tool',
    sample: { tools: [{ tool_name: 'f', parameters: [] }] },
    outcome: 'healed',
    becomes: { prompt: { tools: [{ name: 'f' }] } },
    note: 'PHP writes an empty object so',
  },
  {
    what: 'an empty `response_format`',
    sample: { response_format: {} },
    outcome: 'tolerated',
    becomes: { output: { type: 'text' } },
    note: 'the same as leaving it out',
  },
  {
    what: '`tool_choice` of an undeclared tool',
    sample: { tools: [tool], tool_config: { tool_choice: 'g' } },
    outcome: 'refused',
    param: 'tool_config.tool_choice',
    note: '',
  },
  {
    what: '`tool_choice` that contradicts `tool_config`',
    sample: { tools: [tool], tool_choice: 'none', tool_config: { tool_choice: 'required' } },
    outcome: 'refused',
    param: 'tool_choice',
    note: '',
  },
  { what: '`max_tokens` 0', sample: { sampling_params: { max_tokens: 0 } }, outcome: 'tolerated', note: 'no limit' },
  {
    what: 'a strategy of an unknown type',
    sample: { sampling_params: { strategy: { type: 'luck' } } },
    outcome: 'refused',
    param: 'sampling_params.strategy.type',
    note: '',
  },
  {
    what: 'null for an optional field',
    sample: { tools: null, sampling_params: null },
    outcome: 'tolerated',
    becomes: { prompt: { tools: [] } },
    note: 'the same as leaving it out',
  },
  { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
  { what: 'no model', sample: { model_id: null }, outcome: 'refused', param: 'model_id', note: '' },
]

/** How llama-stack's conversations are read. */
export const stackStrictness: StrictnessTable = {
  title: 'llama-stack chat completion',
  base: { model_id: 'm', messages: [user] },
  rows: [...messages, ...toolsAndOptions],
}
