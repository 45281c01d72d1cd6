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

const errorSchema = z.object({ error: z.object({ message: z.string() }) })

type Trial = {
  readonly settings: Value['settings']
  /** It ends within this time. */
  readonly mostMs: number
}

/** Loads a model with settings on a server of this process, and measures the seconds of the work, or says why it cannot. */
export async function measureModel(
  config: LoadedConfig,
  model: ConfiguredModel,
  { settings, mostMs }: Trial,
): Promise<number | string> {
  const given = Object.entries({ ...model, ...settings }).filter(([, value]) => value !== undefined)
  const tried = { ...Object.fromEntries(given), slots: 1, contextLength: measured.contextLength } as ConfiguredModel
  const signal = AbortSignal.timeout(Math.ceil(mostMs))
  const server = await startOwnServer({ ...config, builtinModel: false, listings: [] }, [tried])
  try {
    const found: number[] = []
    // The first round reads the file, and is not counted.
    for (let round = 0; round <= rounds; round += 1) {
      const seconds = await ask(server.address, { model: model.id, round, signal })
      if (typeof seconds === 'string') return seconds
      if (round > 0) found.push(seconds)
    }
    return Math.min(...found)
  } catch (error) {
    if (signal.aborted) return 'takes too long'
    throw error
  } finally {
    await server.close()
  }
}

type Question = { readonly model: string; readonly round: number; readonly signal: AbortSignal }

async function ask(
  { url, apiKey }: { readonly url: string; readonly apiKey?: string | undefined },
  { model, round, signal }: Question,
): Promise<number | string> {
  const words = Array.from({ length: measured.words }, (_, index) => wordAt(index + round * measured.words))
  const body = { model, prompt: words.join(' '), max_tokens: measured.outputTokens, temperature: 0, ignore_eos: true }
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
    signal,
  })
  const reply = await response.json()
  if (!response.ok) return errorSchema.parse(reply).error.message
  const { prompt_n, prompt_ms, predicted_n, predicted_ms } = replySchema.parse(reply).timings
  return (work.promptTokens * (prompt_ms / prompt_n) + work.outputTokens * (predicted_ms / predicted_n)) / 1000
}

/** Different words in each round: a prompt that was read before costs nothing. */
function wordAt(index: number): string {
  const letters = 'aeioubcdfglmnprst'
  return Array.from({ length: 3 + (index % 4) }, (_, at) => letters[(index * 7 + at * (11 + (index % 5))) % letters.length]).join(
    '',
  )
}
