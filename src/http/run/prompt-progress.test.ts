import { expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'

const messages = [{ role: 'user', content: 'one two three' }]

async function framesOf(url: string, body: object) {
  const payload = { model: 'default', max_tokens: 9, ...body }
  const { body: text, headers } = await openTestServer().app.inject({ method: 'POST', url, payload })
  const frames = text.split('\n\n').flatMap((frame) => (frame.startsWith('data: {') ? [JSON.parse(frame.slice(6))] : []))
  return { frames, ignored: headers['x-dragoman-ignored'] }
}

test.each([
  ['/v1/chat/completions', { messages }],
  ['/v1/completions', { prompt: 'one two three' }],
  ['/completion', { prompt: 'one two three' }],
])('%s says how far the prompt is read, in chunks before the text, where a stream asks for it', async (url, body) => {
  const { frames, ignored } = await framesOf(url, { ...body, stream: true, return_progress: true })
  const progress = frames.filter((frame) => 'prompt_progress' in frame)
  expect(progress.map(({ prompt_progress }) => prompt_progress)).toEqual([
    { total: 3, cache: 0, processed: 0, time_ms: expect.any(Number) },
    { total: 3, cache: 0, processed: 3, time_ms: expect.any(Number) },
  ])
  const textOf = ({ choices: [choice] = [], content }: (typeof frames)[number]) =>
    content ?? choice.text ?? choice.delta.content ?? ''
  expect(progress.map(textOf)).toEqual(['', ''])
  expect(frames.findIndex((frame) => textOf(frame) !== '')).toBeGreaterThan(frames.indexOf(progress[1]))
  expect(ignored).toBeUndefined()
  expect((await framesOf(url, { ...body, stream: true })).frames.some((frame) => 'prompt_progress' in frame)).toBe(false)
})

test('a whole reply is the same with it', async () => {
  const ask = async (more: object) => {
    const payload = { model: 'default', messages, max_tokens: 9, ...more }
    return (await openTestServer().app.inject({ method: 'POST', url: '/v1/chat/completions', payload })).json().choices
  }
  expect(await ask({ return_progress: true })).toEqual(await ask({}))
})
