import { describe, expect, test } from 'vitest'
import { brief, called, finished, say, stream, think } from './__fixtures__/encode.ts'

const begin = ['created in_progress', 'in_progress in_progress']

describe('a stream', () => {
  test('of a text', () => {
    expect(brief(stream([say('Hel'), say('lo'), ...finished()]))).toEqual([
      ...begin,
      'output_item.added 0 message in_progress',
      'content_part.added 0',
      'output_text.delta 0 "Hel"',
      'output_text.delta 0 "lo"',
      'output_text.done 0',
      'content_part.done 0',
      'output_item.done 0 message completed',
      'completed completed',
    ])
  })

  test('of a thought and a text', () => {
    expect(brief(stream([think('Hm.'), { type: 'reasoning-end', choice: 0 }, say('a'), ...finished()]))).toEqual([
      ...begin,
      'output_item.added 0 reasoning in_progress',
      'content_part.added 0',
      'reasoning_text.delta 0 "Hm."',
      'reasoning_text.done 0',
      'content_part.done 0',
      'output_item.done 0 reasoning completed',
      'output_item.added 1 message in_progress',
      'content_part.added 1',
      'output_text.delta 1 "a"',
      'output_text.done 1',
      'content_part.done 1',
      'output_item.done 1 message completed',
      'completed completed',
    ])
  })

  test('of a call only', () => {
    const tools = [{ type: 'function', name: 'f' }]
    expect(brief(stream([...called('c1', 'f', '{}'), ...finished('tool-calls')], { tools }))).toEqual([
      ...begin,
      'output_item.added 0 function_call in_progress',
      'function_call_arguments.delta 0 "{}"',
      'function_call_arguments.done 0',
      'output_item.done 0 function_call completed',
      'completed completed',
    ])
  })
})
