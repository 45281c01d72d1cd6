import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'

const prompt = 'The cat sat on the mat. '.repeat(40)
let inner: RunningApp
let outer: RunningApp
beforeAll(async () => {
  const model = { engine: 'llama', id: 'tiny', source: builtinModel.path, contextLength: 1024, batchSize: 64, slots: 1 } as const
  inner = await startApp({ models: [model], builtinModel: false })
  const remote = { engine: 'remote' as const, id: 'tiny', endpoints: [{ url: `${inner.url}/v1` }] }
  outer = await startApp({ models: [remote], builtinModel: false })
})
afterAll(async () => {
  await outer.close()
  await inner.close()
})

type Progress = { readonly total: number; readonly cache: number; readonly processed: number }

async function progressOf(app: RunningApp, text: string): Promise<readonly Progress[]> {
  const body = { model: 'tiny', prompt: text, n_predict: 2, stream: true, return_progress: true }
  const response = await fetch(`${app.url}/completion`, { method: 'POST', body: JSON.stringify(body), headers: json })
  const frames = (await response.text()).split('\n\n').flatMap((frame) => (frame === '' ? [] : [JSON.parse(frame.slice(6))]))
  return frames.flatMap(({ prompt_progress }) => prompt_progress ?? [])
}

const json = { 'content-type': 'application/json' }

test.each([
  ['of the embedded engine', () => inner],
  ['behind another Dragoman', () => outer],
])('the prompt %s is read in steps, from what is cached to its end', async (name, app) => {
  const text = `${name}. ${prompt}`
  const [first, ...rest] = await progressOf(app(), text)
  const { total = 0 } = first ?? {}
  expect(first).toMatchObject({ processed: first?.cache })
  const processed = rest.map((progress) => progress.processed)
  expect(processed.length).toBeGreaterThan(1)
  expect(processed).toEqual(processed.toSorted((a, b) => a - b))
  expect(processed.at(-1)).toBe(total)
  const [again] = await progressOf(app(), `${text}And more.`)
  expect(again?.cache).toBeGreaterThan(total / 2)
  const cached = await progressOf(app(), `${text}And more.`)
  expect(cached.at(-1)?.processed).toBe(cached.at(-1)?.total)
})
