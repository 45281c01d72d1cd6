import { expect, test } from 'vitest'
import { LoadReader } from './load-reader.ts'

const endpoint = { id: 'a', url: 'http://a/v1', weight: 1 }

/** A reader, and what it did. */
function reading(lines: readonly string[] | Error) {
  let nowMs = 0
  const done: unknown[] = []
  const reader = new LoadReader({
    client: {
      metrics: async () => {
        done.push('asked')
        if (lines instanceof Error) throw lines
        return [...lines]
      },
    },
    pool: { reportLoad: (id, { waiting }) => void done.push(`${id}: ${waiting} wait`) },
    checkNews: { passed: (url, load) => void done.push(`told: ${url}, ${load?.waiting}`), listen: () => () => undefined },
    stopped: new AbortController().signal,
    now: () => nowMs,
  })
  const pass = (seconds: number) => {
    nowMs += 1000 * seconds
  }
  return { reader, done, pass }
}

const lines = ['vllm:num_requests_running{engine="0"} 1', 'vllm:num_requests_waiting{engine="0"} 3']

test('servers are asked how busy they are for a minute after each request, and not while none come', async () => {
  const { reader, done, pass } = reading(lines)
  await reader.read(endpoint)
  expect(done).toEqual([])
  reader.noteUse(0)
  pass(60)
  await reader.read(endpoint)
  expect(done.splice(0)).toEqual(['asked', 'a: 3 wait', 'told: a, 3'])
  pass(1)
  await reader.read(endpoint)
  expect(done).toEqual([])
})

test.each([[[]], [new Error('404')]])('a server without these metrics says nothing', async (lines) => {
  const { reader, done } = reading(lines)
  reader.noteUse(0)
  await reader.read(endpoint)
  expect(done).toEqual(['asked'])
})
