import { asked, becomes, call, called, imagePart, png, say, text, tool, turn, user } from './anthropic-samples.ts'
import type { StrictnessRow } from './row.ts'

/** Calls and their results. */
export const callRows: readonly StrictnessRow[] = [
  {
    what: "results after other content of the user's message",
    sample: {
      messages: [
        user,
        { role: 'assistant', content: [called] },
        { role: 'user', content: [text, { type: 'tool_result', tool_use_id: 't1', content: 'hi' }] },
      ],
    },
    outcome: 'healed',
    becomes: becomes(asked, { role: 'assistant', parts: [call] }, { role: 'tool', toolCallId: 't1', content: [text] }, asked),
    note: 'results come first, beside their calls',
  },
  {
    what: 'an image in a result',
    sample: say({ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'image', source: png }] }),
    outcome: 'tolerated',
    becomes: becomes({ role: 'tool', toolCallId: 't1', content: [imagePart] }),
    note: 'a model without vision refuses it',
  },
  {
    what: '`is_error`',
    sample: say({ type: 'tool_result', tool_use_id: 't1', content: 'hi', is_error: true }),
    outcome: 'tolerated',
    becomes: becomes({ role: 'tool', isError: true }),
    note: 'the model reads of it in the words of the result',
  },
  {
    what: 'a result without content',
    sample: say({ type: 'tool_result', tool_use_id: 't1' }),
    outcome: 'tolerated',
    becomes: becomes({ role: 'tool', content: [] }),
    note: 'the tool returned nothing',
  },
  {
    what: 'a result whose call is not there',
    sample: say({ type: 'tool_result', tool_use_id: 't9', content: 'hi' }),
    outcome: 'tolerated',
    becomes: becomes({ role: 'tool', toolCallId: 't9' }),
    note: 'Anthropic refuses it; clients cut long histories: a template that drops it gets it as text of the user',
  },
  {
    what: 'a result without `tool_use_id`',
    sample: say({ type: 'tool_result', content: 'hi' }),
    outcome: 'refused',
    param: 'messages[0].content[0].tool_use_id',
    note: 'Anthropic always has ids',
  },
  {
    what: 'a call without `input`, with null, or with `[]`, as PHP writes an empty object',
    sample: turn({ ...called, input: [] }),
    outcome: 'healed',
    becomes: becomes(asked, { role: 'assistant', parts: [{ ...call, input: '{}' }] }, asked),
    note: 'an empty object',
  },
  {
    what: 'a call whose `input` is not an object',
    sample: turn({ ...called, input: '{}' }),
    outcome: 'refused',
    param: 'messages[1].content[0].input',
    note: '',
  },
  {
    what: 'a call without a name',
    sample: turn({ type: 'tool_use', id: 't1', input: {} }),
    outcome: 'refused',
    param: 'messages[1].content[0].name',
    note: '',
  },
  {
    what: 'a `tool_reference` to a deferred tool',
    sample: {
      tools: [{ ...tool, defer_loading: true }],
      ...say({ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'tool_reference', tool_name: 'f' }] }),
    },
    outcome: 'healed',
    becomes: {
      prompt: {
        tools: [{ name: 'f', isDeferred: true }],
        messages: [{ content: [{ text: '<function>{"name":"f","parameters":{"type":"object"}}</function>' }] }],
      },
    },
    note: 'the result describes the tool, which may be called from there on',
  },
  {
    what: 'a `tool_reference` to a tool that is not declared',
    sample: say({ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'tool_reference', tool_name: 'f' }] }),
    outcome: 'healed',
    becomes: { prompt: { messages: [{ content: [{ text: 'The tool f is not available.' }] }] } },
    ignored: ['messages[0].content[0].content[0]'],
    note: 'the result says so',
  },
]
