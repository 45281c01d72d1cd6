import { describe, expect, test } from 'vitest'
import { incompleteReasons } from '../../../../test/support/finish-reasons.ts'
import { plainSealer as sealer } from '../../../../test/support/plain-sealer.ts'
import { AppError, type ErrorCode } from '../../../contract/errors.ts'
import type { FinishReason, GeneratedToken } from '../../../contract/event.ts'
import { brief, called, checked, encoderFor, finished, reported, say, start, stream, think } from '../__fixtures__/encode.ts'
import { createCompaction } from './compaction.ts'
import { toSse } from './encoder.ts'

describe('the end of a response', () => {
  test.each<[FinishReason, string, string | undefined]>([
    ['stop', 'completed', undefined],
    ['tool-calls', 'completed', undefined],
    ['end-of-message', 'completed', undefined],
    ['length', 'incomplete', 'max_output_tokens'],
    ['context-full', 'incomplete', 'max_output_tokens'],
    ['paused', 'incomplete', 'max_output_tokens'],
    ['content-filter', 'incomplete', 'content_filter'],
    ['refusal', 'incomplete', 'content_filter'],
    ['cancelled', 'cancelled', undefined],
  ])('after %s is %s', (reason, status, details) => {
    const incomplete_details = details === undefined ? null : { reason: details }
    expect(stream([say('a'), ...finished(reason)]).at(-1)).toMatchObject({ response: { status, incomplete_details } })
  })

  test.each(incompleteReasons)('after %s is not "completed"', (reason) => {
    const last = stream([say('a'), ...finished(reason)]).at(-1)
    expect(last).toMatchObject({ type: 'response.incomplete', response: { completed_at: null } })
  })

  test('has the usage, with both details', () => {
    expect(stream([say('a'), ...finished()]).at(-1)).toMatchObject({
      response: {
        usage: {
          input_tokens: 7,
          input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
          output_tokens: 5,
          output_tokens_details: { reasoning_tokens: 2 },
          total_tokens: 12,
        },
      },
    })
  })

  test('after an error keeps the output so far', () => {
    const events = stream([say('Hel'), { type: 'error', error: new AppError('engine-failed', 'the worker ended') }])
    expect(brief(events).slice(-3)).toEqual(['content_part.done 0', 'output_item.done 0 message incomplete', 'failed failed'])
    expect(events.at(-1)).toMatchObject({
      response: {
        error: { code: 'server_error', message: 'the worker ended' },
        output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }],
      },
    })
  })

  test.each<[ErrorCode, string]>([
    ['context-length-exceeded', 'context_length_exceeded'],
    ['queue-full', 'rate_limit_exceeded'],
    ['rate-limit-exceeded', 'rate_limit_exceeded'],
    ['budget-exceeded', 'rate_limit_exceeded'],
    ['invalid-request', 'invalid_prompt'],
    ['upstream-failed', 'server_error'],
  ])('after %s has the code %s', (code, expected) => {
    const events = stream([{ type: 'error', error: new AppError(code, 'failed') }])
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { error: { code: expected } } })
  })

  test('on request keeps the output so far, and says that it was cancelled', () => {
    const encoder = encoderFor()
    const events = checked([...encoder.encode(start), ...encoder.encode(say('Hel')), ...encoder.cancelled()])
    expect(brief(events).slice(-2)).toEqual(['output_item.done 0 message incomplete', 'incomplete cancelled'])
    expect(encoder.status).toBe('cancelled')
    expect(encoder.output).toMatchObject([{ json: { content: [{ text: 'Hel' }] } }])
  })

  test('comes once', () => {
    const encoder = encoderFor()
    for (const event of [start, say('a'), ...finished()]) encoder.encode(event)
    expect(encoder.cancelled()).toEqual([])
    expect(encoder.encode({ type: 'error', error: new AppError('internal', 'late') })).toEqual([])
    expect(encoder.status).toBe('completed')
  })
})

test('a truncated call is incomplete, and so is one that could not be parsed', () => {
  const [begin, delta] = called('c1', 'f', '{"a":')
  const truncated = stream([...(begin && delta ? [begin, delta] : []), ...finished('length')])
  expect(truncated.at(-1)).toMatchObject({ response: { output: [{ status: 'incomplete', arguments: '{"a":' }] } })
  const unparseable = { type: 'tool-call-end', choice: 0, id: 'c1', state: 'unparseable' } as const
  const odd = stream([...(begin && delta ? [begin, delta] : []), unparseable, ...finished('tool-calls')])
  expect(odd.at(-1)).toMatchObject({ response: { status: 'completed', output: [{ status: 'incomplete', arguments: '{"a":' }] } })
})

test('a background response is queued before it runs, and created once', () => {
  const encoder = encoderFor({ background: true })
  const events = checked([...encoder.queued(), ...encoder.encode(start), ...encoder.encode(reported)])
  expect(brief(events)).toEqual(['created queued', 'queued queued', 'in_progress in_progress', 'completed completed'])
})

test('an item that the server made itself is added whole', () => {
  const encoder = encoderFor()
  const item = createCompaction('We said hi.', sealer)
  const events = checked([start, say('a')].flatMap((event) => encoder.encode(event)).concat(encoder.add(item)))
  expect(brief(events).slice(-3)).toEqual([
    'output_item.done 0 message completed',
    'output_item.added 1 compaction',
    'output_item.done 1 compaction',
  ])
  expect(encoder.output.at(-1)).toEqual(item)
})

describe('thoughts', () => {
  const include = ['reasoning.encrypted_content']

  test('are encrypted on request, when they are complete', () => {
    const events = stream([think('Hm.'), { type: 'reasoning-end', choice: 0, opaque: 'sig' }, ...finished()], { include })
    const items = events.flatMap(({ item }) => (item === undefined ? [] : [item]))
    const sealed = 'sealed:{"kind":"thought","text":"Hm.","opaque":"sig"}'
    expect(items).toMatchObject([{ encrypted_content: '' }, { encrypted_content: sealed }])
  })

  test('are not encrypted otherwise', () => {
    expect(JSON.stringify(stream([think('Hm.'), ...finished()]))).not.toContain('encrypted_content')
  })

  test('that a server only encrypted are items without text', () => {
    const events = stream([{ type: 'reasoning-end', choice: 0, opaque: 'sig' }, ...finished()], { include })
    expect(events.at(-1)).toMatchObject({ response: { output: [{ type: 'reasoning', summary: [], content: [] }] } })
  })
})

describe('log-probabilities', () => {
  const token = (text: string): GeneratedToken => ({ id: 1, text, bytes: [97], logprob: -0.5, top: [] })
  const encoded = (text: string) => ({ token: text, bytes: [97], logprob: -0.5, top_logprobs: [] })
  const tokens = [token('a'), token('b')]

  test('are part of the text and of its deltas on request; those of a token without text come with the next', () => {
    const events = stream(
      [
        { type: 'text-delta', choice: 0, delta: 'x', tokens: [token('x')] },
        { type: 'text-delta', choice: 0, delta: '', tokens: [token('')] },
        { type: 'text-delta', choice: 0, delta: 'ab', tokens },
        ...finished(),
      ],
      { include: ['message.output_text.logprobs'] },
    )
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta')
    expect(deltas).toMatchObject([{ logprobs: [encoded('x')] }, { logprobs: [encoded(''), encoded('a'), encoded('b')] }])
    const logprobs = ['x', '', 'a', 'b'].map(encoded)
    expect(events.at(-1)).toMatchObject({ response: { output: [{ content: [{ logprobs }] }] } })
  })

  test('of the first token come with the first text, also when it has no text of its own', () => {
    const first = { type: 'text-delta', choice: 0, delta: '', tokens: [token('')] } as const
    const events = stream([first, { type: 'text-delta', choice: 0, delta: 'a', tokens: [token('a')] }, ...finished()], {
      top_logprobs: 1,
    })
    expect(events.at(-1)).toMatchObject({ response: { output: [{ content: [{ logprobs: ['', 'a'].map(encoded) }] }] } })
    expect(brief(events)).not.toContain('output_text.delta 0 ""')
  })

  test('of the tags of a call have no place', () => {
    const tag = { type: 'text-delta', choice: 0, delta: '', tokens: [token('')] } as const
    const events = stream([tag, ...called('c1', 'f', '{}'), say('a'), ...finished()], { top_logprobs: 1 })
    expect(events.at(-1)).toMatchObject({ response: { output: [{ type: 'function_call' }, { content: [{ logprobs: [] }] }] } })
  })

  test('are empty otherwise', () => {
    const events = stream([{ type: 'text-delta', choice: 0, delta: 'ab', tokens }, ...finished()])
    expect(events.find(({ type }) => type === 'response.output_text.delta')).toMatchObject({ logprobs: [] })
  })
})

test('an event is one server-sent frame, with line separators escaped', () => {
  const event = { type: 'response.output_text.delta', sequence_number: 3, delta: 'a\u2028b' }
  expect(toSse(event)).toBe(
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":3,"delta":"a\\u2028b"}\n\n',
  )
})
