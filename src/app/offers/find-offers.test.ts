import { expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import { createFindOffers } from './find-offers.ts'

const laptop = { memoryBytes: 8e9, cores: 8 }

async function offersOf(answer: (url: string) => string) {
  const asked: string[] = []
  const hub = await listenOnLoopback(({ url = '' }, response) => {
    asked.push(url)
    response.setHeader('content-type', 'application/json').end(answer(url))
  })
  onTestFinished(hub.close)
  let nowMs = 0
  const pass = (ms: number) => {
    nowMs += ms
  }
  const find = createFindOffers({ machine: async () => laptop, env: { HF_ENDPOINT: hub.origin }, now: () => nowMs })
  return { find, asked, pass }
}

test('the catalogue says what fits the machine, what is proposed and what a model can do, without asking Hugging Face', async () => {
  const { find, asked } = await offersOf(() => '[]')
  const { models, repositories } = await find('')
  expect(models.find(({ name }) => name === 'qwen3:1.7b')).toMatchObject({ fits: true, abilities: ['thinking', 'tools'] })
  expect(models.find(({ name }) => name === 'gemma3:4b')).toMatchObject({ fits: true, abilities: ['vision'] })
  expect(models.find(({ name }) => name === 'llama3.3:70b')).toMatchObject({ fits: false, isProposed: false })
  expect(models.filter(({ isProposed }) => isProposed)).toHaveLength(1)
  expect([repositories, asked]).toEqual([[], []])
})

test('a text finds names and repositories, and is asked once in ten minutes', async () => {
  const repository = { id: 'owner/Qwen3-VL-GGUF', downloads: 10, likes: 2, pipeline_tag: 'image-text-to-text' }
  const { find, asked, pass } = await offersOf(() => JSON.stringify([repository]))
  const { models, repositories } = await find(' QWEN3 1.7b ')
  expect(models.map(({ name }) => name)).toEqual(['qwen3:1.7b'])
  expect(repositories).toEqual([{ name: 'hf.co/owner/Qwen3-VL-GGUF', downloads: 10, likes: 2, abilities: ['vision'] }])
  await find('qwen3 1.7b')
  expect(asked).toHaveLength(1)
  pass(600_001)
  await find('qwen3 1.7b')
  expect(asked).toHaveLength(2)
})

test('without an answer of Hugging Face the catalogue is still offered, with the reason', async () => {
  const { find } = await offersOf(() => '{}')
  const { models, repositories, problem } = await find('qwen3:8b')
  expect(models.map(({ name }) => name)).toEqual(['qwen3:8b'])
  expect([repositories, problem]).toEqual([[], expect.stringMatching(/did not send a list of models/)])
})
