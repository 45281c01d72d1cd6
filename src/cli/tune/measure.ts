import { z } from 'zod'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import { startOwnServer } from '../servers/own-server.ts'
import type { Value } from './search.ts'

/** The work for which models are tuned: a prompt with instructions and a file, and an answer. */
const work = { promptTokens: 1024, outputTokens: 256 }
/** What is measured of it. */
const measured = { words: 300, outputTokens: 32, contextLength: 2048 }
const rounds = 2

const replySchema = z.object({
  timings: z.object({
    prompt_n: z.number(),
    prompt_ms: z.number(),
    predicted_n: z.number(),
    predicted_ms: z.number(),
  }),
})

type Measured = { readonly seconds: number; readonly promptRate: number; readonly outputRate: number }

/** Loads a model with settings on a server of this process, and measures it; undefined where it does not load, or not answer in time. */
export async function measureModel(
  config: LoadedConfig,
  model: ConfiguredModel,
  { settings, signal }: { readonly settings: Value['settings']; readonly signal: AbortSignal },
): Promise<Measured | undefined> {
  const given = Object.entries({ ...model, ...settings }).filter(([, value]) => value !== undefined)
  const tried = { ...Object.fromEntries(given), slots: 1, contextLength: measured.contextLength } as ConfiguredModel
  const server = await startOwnServer({ ...config, builtinModel: false, listings: [] }, [tried])
  try {
    const found: Measured[] = []
    // The first round reads the file, and is not counted.
    for (let round = 0; round <= rounds; round += 1) {
      const one = await ask(server.address, { model: model.id, round, signal })
      if (one === undefined) return undefined
      if (round > 0) found.push(one)
    }
    return found.reduce((best, one) => (one.seconds < best.seconds ? one : best))
  } finally {
    await server.close()
  }
}

type Question = { readonly model: string; readonly round: number; readonly signal: AbortSignal }

async function ask(
  { url, apiKey }: { readonly url: string; readonly apiKey?: string | undefined },
  { model, round, signal }: Question,
): Promise<Measured | undefined> {
  const words = Array.from({ length: measured.words }, (_, index) => wordAt(index + round * measured.words))
  const body = { model, prompt: words.join(' '), max_tokens: measured.outputTokens, temperature: 0, ignore_eos: true }
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
    signal,
  }).catch(() => undefined)
  const reply = replySchema.safeParse(await response?.json().catch(() => undefined))
  if (response?.ok !== true || !reply.success) return undefined
  const { prompt_n, prompt_ms, predicted_n, predicted_ms } = reply.data.timings
  const [promptMs, outputMs] = [prompt_ms / prompt_n, predicted_ms / predicted_n]
  const seconds = (work.promptTokens * promptMs + work.outputTokens * outputMs) / 1000
  return { seconds, promptRate: 1000 / promptMs, outputRate: 1000 / outputMs }
}

/** Different words in each round: a prompt that was read before costs nothing. */
function wordAt(index: number): string {
  const letters = 'aeioubcdfglmnprst'
  return Array.from({ length: 3 + (index % 4) }, (_, at) => letters[(index * 7 + at * (11 + (index % 5))) % letters.length]).join(
    '',
  )
}
