import { expect, test } from 'vitest'
import type { Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { MediaReader } from '../../contract/media.ts'
import { type Prompt, plainChat } from '../../contract/request.ts'
import { refuseUnread } from './refuse-unread.ts'

const image = { type: 'media', kind: 'image', source: { type: 'url', url: 'gopher://x' } } as const
const prompt: Prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [image] }] }

/** What is done, in its order. */
function refusing({ known = false, isBad = false }) {
  const steps: string[] = []
  const engine = {
    facts: known ? { modalities: { image: true, audio: true, video: true } } : {},
    checkMedia: () => void steps.push('model'),
  } as unknown as Engine
  const media = {
    check: (items: readonly unknown[]) => {
      steps.push(`references: ${items.length}`)
      if (isBad) throw new AppError('unsupported-field', 'no')
    },
  } as unknown as MediaReader
  const run = async () => refuseUnread({ prompt }, { engine, media, ready: async () => void steps.push('load') })
  return { run, steps }
}

test('a reference that can be refused by itself loads no model', async () => {
  const { run, steps } = refusing({ isBad: true })
  await expect(run()).rejects.toThrow('no')
  expect(steps).toEqual(['references: 1'])
})

test('a model of which nothing is known is loaded before it is asked', async () => {
  const { run, steps } = refusing({})
  await run()
  expect(steps).toEqual(['references: 1', 'load', 'model'])
})

test('a model that is known decides first', async () => {
  const { run, steps } = refusing({ known: true, isBad: true })
  await run()
  expect(steps).toEqual(['model'])
})
