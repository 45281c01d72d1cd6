import { expect, onTestFinished, test, vi } from 'vitest'

test('a key is kept until the tab is closed, or until it is taken back', async () => {
  const kept = new Map<string, string>()
  vi.stubGlobal('sessionStorage', {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  const { apiKey, useKey } = await import('./session.ts')
  useKey('secret')
  expect([apiKey.value, [...kept.values()]]).toEqual(['secret', ['secret']])
  useKey(undefined)
  expect([apiKey.value, kept.size]).toEqual([undefined, 0])
})
