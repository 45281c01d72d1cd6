import type { Message, Prompt } from '../../src/contract/request.ts'
import { plainChat } from '../../src/contract/request.ts'
import type { AffinityOptions } from '../../src/engine/remote/fleet/affinity/affinity.ts'
import { affinityKeys } from '../../src/engine/remote/fleet/affinity/prefix-affinity.ts'
import { type Lease, Pool, type PoolEndpoint } from '../../src/engine/remote/fleet/pool.ts'
import { createRandom } from './random.ts'

export type FleetWorkload = {
  readonly replicas: number
  readonly conversations: number
  /** Turns that are measured. */
  readonly turns: number
  /** Turns before them, for each conversation at once. */
  readonly warmUp?: number
  readonly seed: number
  readonly affinity?: AffinityOptions
  /** Without keys: the least loaded replica gets each turn. */
  readonly isOff?: true
  /** The part of all conversations that begin with the most used system prompt. */
  readonly hottest?: number
  /** The part of the replicas that are replaced each minute. */
  readonly churn?: number
  readonly systemTokens?: readonly [number, number]
  readonly thinkMs?: number
  readonly turnsOfConversation?: number
  readonly cacheTokens?: number
}

export type FleetMeasure = {
  readonly turns: number
  /** Prompt tokens that were cached where the turn went, by those that were cached anywhere. */
  readonly ofIdeal: number
  /** Of all prompt tokens. */
  readonly hit: number
  /** Turns of a known conversation that went elsewhere than the turn before, while that replica was there. */
  readonly moved: number
  /** The mean over time of the highest load by the mean load. */
  readonly balance: number
}

const groups = 200
const tokensPerSecond = 25
const promptTokensPerSecond = 5000

type Conversation = {
  readonly id: number
  readonly group: number
  readonly messages: Message[]
  tokens: number
  turnsLeft: number
  lastReplica: string | undefined
  /** The replicas that have read it. */
  readonly readers: Set<string>
}

/** Runs an event simulation: conversations that think and ask, replicas that read, write and keep what fits into their caches. */
export function simulateFleet(workload: FleetWorkload): FleetMeasure {
  const { replicas, conversations, turns, churn = 0, hottest = 0.1 } = workload
  const { systemTokens = [500, 3500], thinkMs = 30_000, turnsOfConversation = 6, cacheTokens = 200_000 } = workload
  const random = createRandom(workload.seed)
  const exponential = (mean: number) => -mean * Math.log(1 - random())
  const pool = new Pool<PoolEndpoint>(
    Array.from({ length: replicas }, (_, index) => ({ id: `r${index}`, weight: 1 })),
    { breaker: { random }, ...(workload.affinity !== undefined && { affinity: workload.affinity }) },
  )
  const systemSizes = Array.from({ length: groups }, () =>
    Math.round(systemTokens[0] + random() * (systemTokens[1] - systemTokens[0])),
  )
  /** How many caches have the system prompt of each group. */
  const copies = systemSizes.map(() => 0)
  const caches = new Map(Array.from({ length: replicas }, (_, index) => [`r${index}`, new Cache(cacheTokens, copies)]))
  const events = new Agenda()
  let nextId = 0
  let nextReplica = replicas
  let meanOutput = 400
  const sums = { turns: 0, prompt: 0, hit: 0, ideal: 0, moved: 0, known: 0, balance: 0, samples: 0 }
  const warmUp = conversations * (workload.warmUp ?? 3)
  let taken = 0

  const begin = (): Conversation => {
    const group = random() < hottest ? 0 : Math.floor(random() * groups)
    const size = systemSizes[group] ?? 0
    const messages: Message[] = [text('system', `g${group} `, size)]
    return {
      id: nextId++,
      group,
      messages,
      tokens: size,
      turnsLeft: 1 + Math.floor(exponential(turnsOfConversation - 0.5)),
      lastReplica: undefined,
      readers: new Set(),
    }
  }

  const ask = (given: Conversation, nowMs: number): void => {
    const conversation = given.turnsLeft > 0 ? given : begin()
    const userTokens = Math.round(30 + exponential(120))
    const system = systemSizes[conversation.group] ?? 0
    const known = [...conversation.readers].map((id) => caches.get(id)?.read(conversation, system) ?? 0)
    const idealTokens = Math.max((copies[conversation.group] ?? 0) > 0 ? system : 0, ...known)
    conversation.messages.push(text('user', `c${conversation.id} `, userTokens))
    conversation.tokens += userTokens
    const prompt: Prompt = { type: 'chat', ...plainChat, messages: conversation.messages }
    const promptTokens = conversation.tokens
    const outputTokens = Math.round(50 + exponential(350))
    const keys = workload.isOff === true ? [] : affinityKeys(prompt)
    const lease = pool.acquire({ nowMs, tokens: promptTokens + 2 * meanOutput, promptTokens, affinityKeys: keys })
    if (lease.type === 'none') throw new Error('a healthy fleet has no free replica')
    const { id } = lease.endpoint
    const cache = caches.get(id) as Cache
    const cached = Math.min(promptTokens, cache.read(conversation, system))
    taken += 1
    if (taken > warmUp) {
      sums.turns += 1
      sums.prompt += promptTokens
      sums.hit += cached
      sums.ideal += idealTokens
      if (conversation.lastReplica !== undefined && pool.has(conversation.lastReplica)) {
        sums.known += 1
        if (conversation.lastReplica !== id) sums.moved += 1
      }
    }
    conversation.lastReplica = id
    conversation.readers.add(id)
    const serviceMs = (1000 * (promptTokens - cached)) / promptTokensPerSecond + (1000 * outputTokens) / tokensPerSecond
    events.add(nowMs + serviceMs, (endMs) => answer({ conversation, lease, cached, outputTokens }, endMs))
  }

  const answer = ({ conversation, lease, cached, outputTokens }: Answered, nowMs: number): void => {
    lease.learn(conversation.tokens, cached)
    lease.release({ type: 'ok' }, nowMs)
    meanOutput += (outputTokens - meanOutput) / 100
    conversation.messages.push(said(`a${conversation.id} `, outputTokens))
    conversation.tokens += outputTokens
    conversation.turnsLeft -= 1
    caches.get(lease.endpoint.id)?.write(conversation, systemSizes[conversation.group] ?? 0)
    events.add(nowMs + exponential(thinkMs), (askMs) => ask(conversation, askMs))
  }

  const sample = (nowMs: number): void => {
    if (taken > warmUp) {
      const loads = pool.describe(nowMs).map(({ outstandingTokens }) => outstandingTokens)
      const mean = loads.reduce((sum, load) => sum + load, 0) / loads.length
      sums.balance += Math.max(...loads) / mean
      sums.samples += 1
    }
    events.add(nowMs + 500, sample)
  }

  const replace = (nowMs: number): void => {
    const ids = [...caches.keys()]
    const gone = ids[Math.floor(random() * ids.length)] as string
    const id = `r${nextReplica++}`
    pool.remove(gone, nowMs)
    caches.get(gone)?.clear()
    caches.delete(gone)
    pool.add({ id, weight: 1 }, nowMs)
    caches.set(id, new Cache(cacheTokens, copies))
    events.add(nowMs + 60_000 / (churn * replicas), replace)
  }

  for (let index = 0; index < conversations; index++) {
    const conversation = begin()
    events.add(random() * thinkMs, (nowMs) => ask(conversation, nowMs))
  }
  events.add(0, sample)
  if (churn > 0) events.add(0, replace)
  while (sums.turns < turns) events.next()
  return {
    turns: sums.turns,
    ofIdeal: sums.hit / sums.ideal,
    hit: sums.hit / sums.prompt,
    moved: sums.moved / sums.known,
    balance: sums.balance / sums.samples,
  }
}

type Answered = {
  readonly conversation: Conversation
  readonly lease: Lease<PoolEndpoint>
  readonly cached: number
  readonly outputTokens: number
}

/** What a replica has read: system prompts, and conversations without theirs; what was used longest ago gives way. */
class Cache {
  readonly #room: number
  readonly #copies: number[]
  readonly #sizes = new Map<string, { readonly tokens: number; readonly group?: number }>()
  #used = 0

  constructor(room: number, copies: number[]) {
    this.#room = room
    this.#copies = copies
  }

  /** How many of the conversation's tokens are here. */
  read({ id, group }: Conversation, systemTokens: number): number {
    if (!this.#sizes.has(`g${group}`)) return 0
    return systemTokens + (this.#sizes.get(`c${id}`)?.tokens ?? 0)
  }

  write({ id, group, tokens }: Conversation, systemTokens: number): void {
    this.#forget(`c${id}`)
    this.#forget(`g${group}`)
    this.#add(`c${id}`, { tokens: tokens - systemTokens })
    this.#add(`g${group}`, { tokens: systemTokens, group })
    for (const name of this.#sizes.keys()) {
      if (this.#used <= this.#room) return
      this.#forget(name)
    }
  }

  clear(): void {
    for (const name of this.#sizes.keys()) this.#forget(name)
  }

  #add(name: string, entry: { readonly tokens: number; readonly group?: number }): void {
    this.#used += entry.tokens
    this.#sizes.set(name, entry)
    this.#count(entry.group, 1)
  }

  #forget(name: string): void {
    const entry = this.#sizes.get(name)
    if (entry === undefined) return
    this.#used -= entry.tokens
    this.#sizes.delete(name)
    this.#count(entry.group, -1)
  }

  #count(group: number | undefined, change: number): void {
    if (group !== undefined) this.#copies[group] = (this.#copies[group] ?? 0) + change
  }
}

/** Events in the order of their times. */
class Agenda {
  readonly #heap: { readonly atMs: number; readonly run: (nowMs: number) => void }[] = []

  add(atMs: number, run: (nowMs: number) => void): void {
    const heap = this.#heap
    let place = heap.push({ atMs, run }) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      const [one, above] = [heap[place], heap[parent]]
      if (one === undefined || above === undefined || above.atMs <= one.atMs) return
      heap[place] = above
      heap[parent] = one
      place = parent
    }
  }

  next(): void {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined) throw new Error('nothing is left to happen')
    if (heap.length > 0) {
      let place = 0
      while (true) {
        let child = 2 * place + 1
        const right = heap[child + 1]
        if (right !== undefined && right.atMs < (heap[child]?.atMs ?? 0)) child += 1
        const below = heap[child]
        if (below === undefined || below.atMs >= last.atMs) break
        heap[place] = below
        place = child
      }
      heap[place] = last
    }
    first.run(first.atMs)
  }
}

/** One character for each token. */
function text(role: 'system' | 'user', start: string, tokens: number): Message {
  return { role, content: [{ type: 'text', text: start.padEnd(tokens, 'x') }] }
}

function said(start: string, tokens: number): Message {
  return { role: 'assistant', parts: [{ type: 'text', text: start.padEnd(tokens, 'x') }] }
}
