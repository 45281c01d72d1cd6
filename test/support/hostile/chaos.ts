import { setTimeout as sleep } from 'node:timers/promises'

/** A server that can be killed and restarted at the same address. */
export type Replica = { readonly url: string; start(): Promise<void>; kill(): Promise<void> }

export type ChaosPlan = {
  /** Where the requests go. */
  readonly url: string
  readonly replicas: readonly Replica[]
  readonly seconds: number
  /** How often a replica is killed; it is back after `awayMs`. */
  readonly killEveryMs: number
  readonly awayMs: number
  readonly clients: number
  readonly body: Readonly<Record<string, unknown>>
}

/** How a request ended, and its output until then. */
export type ChaosReply = {
  readonly text: string
  readonly ids: ReadonlySet<string>
  readonly finishes: readonly string[]
  readonly errors: readonly string[]
  readonly usages: readonly { prompt_tokens: number; completion_tokens: number }[]
  readonly isDone: boolean
}

/** Each client sends streams in sequence while servers are killed in turn; ends with all servers up. */
export async function runChaos(plan: ChaosPlan): Promise<{ readonly replies: readonly ChaosReply[]; readonly kills: number }> {
  const { replicas, seconds, killEveryMs, awayMs, clients } = plan
  const endMs = performance.now() + seconds * 1000
  const replies: ChaosReply[] = []
  const client = async () => {
    while (performance.now() < endMs) replies.push(await send(plan))
  }
  let kills = 0
  const killer = async () => {
    while (performance.now() + killEveryMs < endMs) {
      await sleep(killEveryMs)
      const replica = replicas[kills % replicas.length]
      kills += 1
      await replica?.kill()
      await sleep(awayMs)
      await replica?.start()
    }
  }
  await Promise.all([killer(), ...Array.from({ length: clients }, client)])
  return { replies, kills }
}

async function send({ url, body }: ChaosPlan): Promise<ChaosReply> {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
  })
  const whole = await reply.text()
  const lines = whole.split('\n').filter((line) => line.startsWith('data: '))
  const chunks = lines.filter((line) => line !== 'data: [DONE]').map((line) => JSON.parse(line.slice(6)))
  const choices = chunks.flatMap((chunk) => chunk.choices ?? [])
  return {
    text: choices.map(({ delta }) => delta?.content ?? '').join(''),
    ids: new Set(chunks.flatMap(({ id }) => id ?? [])),
    finishes: choices.flatMap(({ finish_reason }) => finish_reason ?? []),
    errors: reply.status === 200 ? chunks.flatMap(({ error }) => error?.message ?? []) : [`${reply.status}: ${whole}`],
    usages: chunks.flatMap(({ usage }) => usage ?? []),
    isDone: lines.at(-1) === 'data: [DONE]',
  }
}
