import { asked, becomes, called, calls, result, user } from './openai-chat-samples.ts'
import type { StrictnessRow } from './row.ts'

/** Calls and their results. */
export const callRows: readonly StrictnessRow[] = [
  {
    what: 'a result without `tool_call_id`, with the name of its function',
    sample: { messages: [called, { role: 'tool', name: 'f', content: 'r' }] },
    outcome: 'healed',
    becomes: becomes(calls, result('c1', { name: 'f' })),
    note: 'it answers the first open call of that name since the last user message',
  },
  {
    what: 'an empty `tool_call_id`',
    sample: { messages: [called, { role: 'tool', tool_call_id: '', content: 'r' }] },
    outcome: 'healed',
    becomes: becomes(calls, result('c1')),
    note: 'it answers the first open call',
  },
  {
    what: 'a result without an id, and no open call',
    sample: { messages: [user, { role: 'tool', content: 'r' }] },
    outcome: 'healed',
    becomes: becomes(asked, result('call_of_result_1')),
    note: 'it gets an id, and is then a result without a call',
  },
  {
    what: 'a result whose call is not there',
    sample: { messages: [user, { role: 'tool', tool_call_id: 'c9', content: 'r' }] },
    outcome: 'tolerated',
    becomes: becomes(asked, result('c9')),
    note: 'clients cut long histories, and read calls out of texts themselves; a template that drops it, or a server that refuses it, gets it as text of the user',
  },
  {
    what: 'calls without results',
    sample: { messages: [called, user] },
    outcome: 'tolerated',
    becomes: becomes(calls, asked),
    note: 'the user went on',
  },
  {
    what: 'a call without an id',
    sample: {
      messages: [
        { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', content: 'r' },
      ],
    },
    outcome: 'healed',
    becomes: becomes(
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'call_0_0', name: 'f', input: '{}' }] },
      result('call_0_0'),
    ),
    note: 'the id depends on the position only, so that the prompt stays as it was',
  },
  {
    what: 'arguments that are an object',
    sample: { messages: [{ role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'f', arguments: {} } }] }] },
    outcome: 'healed',
    becomes: becomes(calls),
    note: 'its JSON',
  },
  {
    what: 'no arguments: null, absent, an empty text, the text `null`, or `[]`, as PHP writes an empty object',
    sample: { messages: [{ role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'f', arguments: [] } }] }] },
    outcome: 'healed',
    becomes: becomes(calls),
    note: '`{}`: clients send it back for tools without parameters',
  },
  {
    what: 'arguments that are no JSON',
    sample: { messages: [{ role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'f', arguments: 'x' } }] }] },
    outcome: 'tolerated',
    becomes: becomes({ role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'f', input: 'x' }] }),
    note: 'a model wrote them',
  },
  {
    what: '`tool_calls` in a message of another role',
    sample: { messages: [{ ...called, ...user }] },
    outcome: 'refused',
    param: 'messages[0].tool_calls',
    note: 'the role is probably wrong',
  },
  {
    what: 'an empty `tool_calls` list in a message of another role',
    sample: { messages: [{ ...user, tool_calls: [] }] },
    outcome: 'tolerated',
    becomes: becomes(asked),
    ignored: ['messages[].tool_calls'],
    note: 'some clients send every field',
  },
  {
    what: '`tool_call_id` in a message of another role',
    sample: { messages: [{ ...user, tool_call_id: 'c1' }] },
    outcome: 'refused',
    param: 'messages[0].tool_call_id',
    note: 'the role is probably wrong',
  },
  {
    what: 'a call of an unknown type',
    sample: {
      messages: [{ role: 'assistant', tool_calls: [{ id: 'c1', type: 'wish', function: { name: 'f', arguments: '' } }] }],
    },
    outcome: 'refused',
    param: 'messages[0].tool_calls[0].type',
    note: '',
  },
]
