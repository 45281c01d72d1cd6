import { callRows } from './openai-chat-calls.ts'
import { contentRows } from './openai-chat-content.ts'
import { asked, becomes, result, tool, user } from './openai-chat-samples.ts'
import type { StrictnessRow, StrictnessTable } from './row.ts'

const roles: readonly StrictnessRow[] = [
  {
    what: 'role `developer`',
    sample: { messages: [{ role: 'developer', content: 'hi' }, user] },
    outcome: 'tolerated',
    becomes: becomes({ ...asked, role: 'developer' }, asked),
    note: 'rendered as `system`',
  },
  {
    what: 'role `function`',
    sample: {
      messages: [
        { role: 'assistant', function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: 'r' },
      ],
    },
    outcome: 'healed',
    becomes: becomes(
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'call_function_0', name: 'f', input: '{}' }] },
      result('call_function_0', { name: 'f' }),
    ),
    note: 'deprecated: a result of the call of that name',
  },
  {
    what: 'another role',
    sample: { messages: [{ role: 'critic', content: 'hi' }] },
    outcome: 'refused',
    param: 'messages[0].role',
    note: '',
  },
  {
    what: 'a message without a role',
    sample: { messages: [{ content: 'hi' }] },
    outcome: 'refused',
    param: 'messages[0].role',
    note: '',
  },
  { what: 'no messages', sample: { messages: [] }, outcome: 'refused', param: 'messages', note: '' },
  {
    what: 'system messages only',
    sample: { messages: [{ role: 'system', content: 'hi' }] },
    outcome: 'tolerated',
    becomes: becomes({ ...asked, role: 'system' }),
    note: 'OpenAI answers them too; a template that needs a user turn gets an empty one',
  },
  {
    what: 'a conversation that the assistant opens, with an answer or a call',
    sample: { messages: [{ role: 'assistant', content: 'hi' }, user] },
    outcome: 'tolerated',
    becomes: becomes({ role: 'assistant', parts: [{ type: 'text', text: 'hi' }] }, asked),
    note: 'greetings and cut histories; a template that needs a user turn in front gets an empty one',
  },
  {
    what: 'an empty message of the assistant',
    sample: { messages: [user, { role: 'assistant', content: '' }, user] },
    outcome: 'tolerated',
    becomes: becomes(asked, { role: 'assistant', parts: [{ type: 'text', text: '' }] }, asked),
    note: 'an interrupted request leaves it; it is left out for a template that refuses it',
  },
  {
    what: 'several and late system messages',
    sample: { messages: [{ role: 'system', content: 'hi' }, user, { role: 'system', content: 'hi' }] },
    outcome: 'tolerated',
    becomes: becomes({ ...asked, role: 'system' }, asked, { ...asked, role: 'system' }),
    note: 'stay in their places; where the template refuses one, it joins a user turn next to it',
  },
  {
    what: 'turns of one role in a row',
    sample: { messages: [user, user] },
    outcome: 'tolerated',
    becomes: becomes(asked, asked),
    note: 'merged for templates whose turns must alternate',
  },
]

const toolsAndOptions: readonly StrictnessRow[] = [
  {
    what: 'a tool of an unknown type',
    sample: { tools: [{ type: 'web_search' }] },
    outcome: 'refused',
    param: 'tools[0].type',
    note: 'the model would not have it',
  },
  {
    what: 'an empty list for an object of a schema: `properties: []`; `metadata: []`',
    sample: {
      metadata: [],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: [] } } }],
    },
    outcome: 'healed',
    becomes: { prompt: { tools: [{ name: 'f', parameters: { type: 'object', properties: {} } }] } },
    note: 'PHP writes an empty object so; also of `response_format`',
  },
  {
    what: 'an empty `response_format`',
    sample: { response_format: {} },
    outcome: 'tolerated',
    becomes: { output: { type: 'text' } },
    note: 'the same as leaving it out',
  },
  {
    what: 'two tools of one name',
    sample: { tools: [tool, tool] },
    outcome: 'refused',
    param: 'tools[1].function.name',
    note: '',
  },
  {
    what: 'an empty list of tools',
    sample: { tools: [] },
    outcome: 'tolerated',
    becomes: { prompt: { tools: [] } },
    note: 'the same as none',
  },
  {
    what: '`tool_choice` `required` or a name without tools',
    sample: { tool_choice: 'required' },
    outcome: 'refused',
    param: 'tool_choice',
    note: 'as OpenAI does; `auto` is accepted, which clients of other servers always send',
  },
  {
    what: '`tool_choice` of an undeclared tool',
    sample: { tools: [tool], tool_choice: { type: 'function', function: { name: 'g' } } },
    outcome: 'refused',
    param: 'tool_choice',
    note: '',
  },
  {
    what: 'null for an optional field',
    sample: { tools: null, stop: null, temperature: null },
    outcome: 'tolerated',
    becomes: { sampling: {}, stop: [] },
    note: 'the same as leaving it out',
  },
  { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
  {
    what: 'a stop sequence without characters',
    sample: { stop: ['', 'END'] },
    outcome: 'healed',
    becomes: { stop: ['END'] },
    note: 'left out: it would end every reply at once',
  },
]

/** How chat completions are read. */
export const chatStrictness: StrictnessTable = {
  title: 'OpenAI chat completions',
  base: { model: 'm', messages: [user] },
  rows: [...roles, ...contentRows, ...callRows, ...toolsAndOptions],
}
