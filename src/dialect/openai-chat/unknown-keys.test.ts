import { describe, expect, test } from 'vitest'
import { decodeChat } from './decode.ts'

const user = { role: 'user', content: 'hi' }
const text = { type: 'text', text: 'a' }
const tools = [{ type: 'function', function: { name: 'f' } }]
const allowed = (tool: object) => ({
  type: 'allowed_tools',
  allowed_tools: { mode: 'auto', tools: [{ type: 'function', ...tool }] },
})
const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '' } }

function ignoredIn(messages: readonly object[], more: object = {}): readonly string[] {
  return decodeChat({ model: 'm', messages, ...more }, 'x').ignored
}

describe('unknown fields inside a body', () => {
  test.each<[object, string]>([
    [{ ...user, weight: 1 }, 'messages[].weight'],
    [{ ...user, tool_calls: [] }, 'messages[].tool_calls'],
    [{ role: 'tool', tool_call_id: 'c', content: 'a', status: 'ok' }, 'messages[].status'],
    [{ role: 'user', content: [{ ...text, cache_control: {} }] }, 'messages[].content[].cache_control'],
    [
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', size: 1 } }] },
      'messages[].content[].image_url.size',
    ],
    [
      { role: 'user', content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav', rate: 1 } }] },
      'messages[].content[].input_audio.rate',
    ],
    [{ role: 'assistant', tool_calls: [{ ...call, index: 0 }] }, 'messages[].tool_calls[].index'],
    [
      { role: 'assistant', tool_calls: [{ ...call, function: { ...call.function, strict: true } }] },
      'messages[].tool_calls[].function.strict',
    ],
    [{ role: 'assistant', function_call: { name: 'f', arguments: '', id: 'x' } }, 'messages[].function_call.id'],
    [{ ...user, prefix: true }, 'messages[].prefix'],
  ])('%j: the path is named, without indices', (message, path) => {
    expect(ignoredIn([user, message])).toEqual([path])
  })

  test.each<[object, string]>([
    [{ tools: [{ type: 'function', function: { name: 'f' }, cache_control: {} }] }, 'tools[].cache_control'],
    [{ tools: [{ type: 'function', function: { name: 'f', defer_loading: true } }] }, 'tools[].function.defer_loading'],
    [{ functions: [{ name: 'f', returns: {} }] }, 'functions[].returns'],
    [{ response_format: { type: 'json_object', version: 1 } }, 'response_format.version'],
    [{ response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {}, x: 1 } } }, 'response_format.json_schema.x'],
    [{ reasoning: { summary: 'auto' } }, 'reasoning.summary'],
    [{ tools, tool_choice: { type: 'function', function: { name: 'f', x: 1 } } }, 'tool_choice.function.x'],
    [{ tools, tool_choice: allowed({ function: { name: 'f' }, x: 1 }) }, 'tool_choice.allowed_tools.tools[].x'],
    [{ tools, tool_choice: allowed({ function: { name: 'f', x: 1 } }) }, 'tool_choice.allowed_tools.tools[].function.x'],
    [{ functions: [{ name: 'f' }], function_call: { name: 'f', x: 1 } }, 'function_call.x'],
    [{ thinking: { type: 'enabled', display: 'omitted' } }, 'thinking.display'],
    [{ structured_outputs: { json: {}, whitespace_pattern: ' ' } }, 'structured_outputs.whitespace_pattern'],
  ])('%j: the path is named, whatever the object', (fields, path) => {
    expect(ignoredIn([user], fields)).toEqual([path])
  })

  test('one that would change what is generated is refused', () => {
    const images = { ...user, images: ['a'] }
    expect(() => ignoredIn([images], {})).toThrow(
      expect.objectContaining({ code: 'unsupported-field', param: 'messages[0].images' }),
    )
  })

  test('each is named once, after those at the top', () => {
    const parts = { role: 'user', content: [text, { ...text, x: 1 }, { ...text, x: 2 }] }
    expect(
      ignoredIn([parts, parts], { y: 1, stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } }),
    ).toEqual(['y', 'messages[].content[].x', 'stream_options.continuous_usage_stats'])
  })

  test('a null is the same as none, and what a schema knows is not named', () => {
    expect(
      ignoredIn([
        { ...user, name: 'Ann', tool_calls: null },
        { role: 'assistant', content: null, refusal: null, reasoning: 'b', reasoning_content: 'b', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', content: [text], name: 'f' },
        { role: 'function', name: 'f', content: 'a' },
      ]),
    ).toEqual([])
  })

  test('the keywords of a schema and of a bare one are not looked into', () => {
    const schema = { type: 'object', 'x-note': 1 }
    const tools = [{ type: 'function', function: { name: 'f', parameters: schema } }]
    expect(ignoredIn([user], { tools, response_format: { type: 'json_schema', json_schema: schema } })).toEqual([])
  })

  test('what a caller names freely, such as the arguments of a call, is not looked into', () => {
    const free = { ...call, function: { name: 'f', arguments: { anything: { at: 'all' } } } }
    expect(ignoredIn([{ role: 'assistant', tool_calls: [free] }], { metadata: { trace: 'a' } })).toEqual([])
  })
})
