import { expect, test } from 'vitest'
import { AnswerFold } from './answer-fold.ts'
import type { Message } from './conversation.ts'

const empty: Message = { id: 'a', role: 'assistant', text: '', atMs: 0, state: 'running' }
const delta = (fields: object, more: object = {}) => ({ choices: [{ delta: fields, ...more }] })

test('text and reasoning are added up, with the time that the reasoning took', () => {
  const fold = new AnswerFold(empty, 0)
  fold.push(delta({ role: 'assistant', content: '' }), 10)
  fold.push(delta({ reasoning_content: 'Hm', content: null }), 100)
  fold.push(delta({ reasoning_content: ', so.' }), 300)
  fold.push(delta({ content: 'Yes' }), 500)
  fold.push(delta({ content: '.' }, { finish_reason: 'stop' }), 900)
  expect(fold.message('done')).toMatchObject({
    text: 'Yes.',
    reasoning: 'Hm, so.',
    reasoningMs: 400,
    finish: 'stop',
    state: 'done',
  })
  expect(fold.isEnded).toBe(true)
})

test('calls come in pieces, several at a time', () => {
  const fold = new AnswerFold(empty, 0)
  const call = (index: number, more: object) => fold.push(delta({ tool_calls: [{ index, ...more }] }), 1)
  call(0, { id: 'x', function: { name: 'weather', arguments: '' } })
  call(0, { function: { arguments: '{"city":' } })
  call(1, { id: 'y', function: { name: 'time', arguments: '{}' } })
  call(0, { function: { arguments: '"Oslo"}' } })
  expect(fold.message('done').calls).toEqual([
    { id: 'x', name: 'weather', input: '{"city":"Oslo"}', by: 'caller' },
    { id: 'y', name: 'time', input: '{}', by: 'caller' },
  ])
})

test('the last chunk has what it cost', () => {
  const fold = new AnswerFold(empty, 1000)
  fold.push(delta({ content: 'a' }), 1250)
  const usage = { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } }
  fold.push({ choices: [], usage, timings: { predicted_per_second: 38 } }, 1300)
  const facts = { promptTokens: 9, cachedTokens: 4, outputTokens: 5, tokensPerSecond: 38, firstTokenMs: 250 }
  expect(fold.message('done').facts).toEqual(facts)
})

test('what is continued keeps its text in front, and an error keeps what came', () => {
  const fold = new AnswerFold({ ...empty, text: 'One, ' }, 0)
  fold.push(delta({ content: 'two' }), 1)
  expect(fold.message('running')).toMatchObject({ text: 'One, two' })
  fold.push({ error: { message: 'the engine failed' } }, 2)
  expect(fold.message('failed')).toMatchObject({ text: 'One, two', problem: 'the engine failed' })
})

test('while the prompt is read, it knows how far', () => {
  const fold = new AnswerFold(empty, 0)
  fold.push({ choices: [{ delta: {} }], prompt_progress: { total: 100, cache: 20, processed: 60 } }, 1)
  expect(fold.reading).toBe(0.5)
  fold.push(delta({ content: 'a' }), 2)
  expect(fold.reading).toBeUndefined()
})

test('a prompt that is in the cache has nothing to read', () => {
  const fold = new AnswerFold(empty, 0)
  fold.push({ choices: [{ delta: {} }], prompt_progress: { total: 100, cache: 100, processed: 100 } }, 1)
  expect(fold.reading).toBeUndefined()
})

test('a call of the server waits for an approval, runs, and has ended', () => {
  const fold = new AnswerFold(empty, 0)
  const call = { tool_name: 'python', tool_call_id: 'c' }
  const calls = () => fold.message('running').calls
  fold.push({ type: 'tool_status', content: 'Running Python' }, 1)
  expect(calls()).toBeUndefined()
  fold.push({ type: 'tool_start', ...call, arguments: { code: '1' } }, 1)
  fold.push({ type: 'tool_confirm', ...call, arguments: { code: '1' } }, 1)
  const shown = { id: 'c', name: 'python', input: '{"code":"1"}', by: 'server' }
  expect(calls()).toEqual([{ ...shown, waits: true }])
  fold.push({ type: 'tool_status', content: 'Running Python', tool_call_id: 'c' }, 1)
  expect(calls()).toEqual([shown])
  fold.push({ type: 'tool_end', ...call, result: 'no\n__IMAGES__:["a.png"]', is_error: true, images: ['a.png'] }, 1)
  expect(calls()).toEqual([{ ...shown, result: 'no', isError: true, pictures: ['a.png'] }])
})

test('a fold that begins anywhere in a stream, with what one before made of its start, ends in the same message', () => {
  const call = { tool_name: 'python', tool_call_id: 's' }
  const logprobs = { content: [{ token: 'Yes', logprob: -1, top_logprobs: [{ token: 'No', logprob: -2 }] }] }
  const stream = [
    delta({ reasoning_content: 'Hm' }),
    delta({ reasoning_content: ', so.' }),
    { type: 'tool_start' as const, ...call, arguments: { code: '1' } },
    { type: 'tool_end' as const, ...call, result: '1' },
    delta({ content: 'Yes' }, { logprobs }),
    delta({ tool_calls: [{ index: 0, id: 'x', function: { name: 'time', arguments: '{"a":' } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }),
    delta({}, { finish_reason: 'tool_calls' }),
    { choices: [], usage: { prompt_tokens: 9, completion_tokens: 5 } },
  ]
  const messageAt = (before: Message, from: number, to: number) => {
    const fold = new AnswerFold(before, undefined)
    for (const [index, chunk] of stream.slice(from, to).entries()) fold.push(chunk, (from + index) * 100)
    return fold.message('running')
  }
  const { reasoningMs: wholeMs, ...whole } = messageAt(empty, 0, stream.length)
  for (let at = 0; at <= stream.length; at += 1) {
    const { reasoningMs, ...resumed } = messageAt(messageAt(empty, 0, at), at, stream.length)
    expect(resumed).toEqual(whole)
    // The time while nobody listened is not counted.
    expect(reasoningMs).toBeLessThanOrEqual(wholeMs ?? 0)
  }
})
