import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../support/http/app.ts'
import { writeRandomModel } from '../support/llama/random-gguf.ts'
import { connections } from './connections.ts'
import { openTavern, tavernFolder, tavernHint } from './tavern.ts'

/** Replies of random weights are long, and never the same. */
const model = 'random'
/** The other server's model takes a minute and more. */
const script = [{ reply: { chunks: Array(1000).fill('turtle '), delayMs: 200 } }]

let home: string
let app: RunningApp
let slow: RunningApp
let tavern: Awaited<ReturnType<typeof openTavern>>

beforeAll(async () => {
  if (tavernHint !== '') return
  home = await mkdtemp(join(tmpdir(), 'dragoman-sillytavern-models-'))
  const weights = join(home, 'random.gguf')
  await writeRandomModel(weights, { contextLength: 16_384 })
  const scriptFile = join(home, 'script.json')
  await writeFile(scriptFile, JSON.stringify(script))
  app = await startApp({ models: [{ id: model, engine: 'llama', source: weights }] })
  slow = await startApp({ models: [{ id: 'slow', engine: 'fake', script: scriptFile, contextLength: 200_000 }] })
  tavern = await openTavern(tavernFolder)
})
afterAll(async () => {
  await Promise.all([tavern?.close(), app?.close(), slow?.close()])
  if (home !== undefined) await rm(home, { recursive: true, force: true })
})

describe.skipIf(tavernHint !== '')(`SillyTavern${tavernHint}`, () => {
  describe.each(connections)('over $name', (connection) => {
    test('connects, finds the model, replies, and swipes to other replies', async () => {
      await tavern.connect(connection, { url: app.url, model })
      await tavern.newChat()
      await tavern.wish(connection, { streams: false, probabilities: false })
      const replies = [await tavern.send('Say hello.'), await tavern.swipe(), await tavern.swipe()]
      await tavern.wish(connection, { streams: true, probabilities: true })
      replies.push(await tavern.swipe())
      expect(replies.flatMap(({ errors }) => errors)).toEqual([])
      const { swipes = [] } = replies.at(-1) ?? {}
      expect(new Set(swipes.filter((text) => text !== '')).size).toBe(4)
      if (connection.showsProbabilities) {
        const { tokens, candidates } = await tavern.probabilities()
        expect(tokens.length).toBeGreaterThan(1)
        expect(candidates.length).toBeGreaterThanOrEqual(5)
      }
      expect(app.logLines().filter((line) => 'status' in line && Number(line.status) >= 400)).toEqual([])
    })

    test('stops a reply, keeps what came of it, and ends the run of the engine', async () => {
      await tavern.connect(connection, { url: slow.url, model: 'slow' })
      await tavern.newChat()
      await tavern.wish(connection, { streams: true, probabilities: false })
      const before = interrupted()
      const { text } = await tavern.stop('Take your time.', 'turtle')
      expect(text).toMatch(/^turtle( turtle){0,300}$/)
      await until(async () => (await slow.metric('dragoman_slots_busy{model="slow"}')) === 0)
      expect(interrupted()).toBe(before + 1)
    })
  })
})

/** How many requests to the slow server ended because their client left. */
function interrupted(): number {
  return slow.logLines().filter((line) => 'status' in line && line.status === 499).length
}
