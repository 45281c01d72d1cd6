import { setTimeout as pause } from 'node:timers/promises'
import { chatChunk, doneLine, openStream, type ScriptedUpstream, startUpstream } from './upstream.ts'

type Message = { readonly role: string; readonly content: unknown }

export type CachingFleet = {
  readonly servers: readonly ScriptedUpstream[]
  /** Tokens of all prompts: those that a server had read before, and those that any of them had. */
  readonly sums: { hit: number; possible: number; prompt: number }
  close(): Promise<void>
}

/** Servers that remember what they have read, for ever, and report it as `cached_tokens`. A token is four characters. */
export async function startCachingFleet(count: number, replyMs: () => number): Promise<CachingFleet> {
  const caches = Array.from({ length: count }, () => new Set<string>())
  const sums = { hit: 0, possible: 0, prompt: 0 }
  const servers = await Promise.all(
    caches.map((cache) =>
      startUpstream(async ({ body }, response) => {
        const prefixes = prefixesOf(body.messages as readonly Message[])
        const hit = cachedIn(cache, prefixes)
        sums.hit += hit
        sums.possible += Math.max(...caches.map((other) => cachedIn(other, prefixes)))
        const prompt = tokensOf(prefixes.at(-1) ?? '')
        sums.prompt += prompt
        for (const prefix of prefixes) cache.add(prefix)
        openStream(response)
        await pause(replyMs())
        response.write(chatChunk({ delta: { content: 'a'.repeat(400) }, finish_reason: 'stop' }))
        const usage = { prompt_tokens: prompt, completion_tokens: 100, prompt_tokens_details: { cached_tokens: hit } }
        response.end(`${chatChunk({}, { choices: [], usage })}${doneLine}`)
      }),
    ),
  )
  return { servers, sums, close: async () => void (await Promise.all(servers.map((server) => server.close()))) }
}

/** The prompt after each of its messages. */
function prefixesOf(messages: readonly Message[]): readonly string[] {
  return messages.map((_, index) => JSON.stringify(messages.slice(0, index + 1)))
}

function cachedIn(cache: ReadonlySet<string>, prefixes: readonly string[]): number {
  const longest = prefixes.findLast((prefix) => cache.has(prefix))
  return longest === undefined ? 0 : tokensOf(longest)
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / 4)
}
