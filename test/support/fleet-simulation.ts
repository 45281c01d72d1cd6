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
  /** Processes in front of the replicas, each of which gets a random part of the turns. */
  readonly pods?: number
  /** How many of the replicas are in each zone. Processes are in the zones by turns. Absent: all is in one zone. */
  readonly zones?: readonly number[]
  /** The part of the replicas that every other process takes for gone. */
  readonly unseen?: number
  /** Each process serves the clients that it has. */
  readonly keepsClients?: true
  /** How often all processes hear of each replica's load. Absent: never. */
  readonly reportMs?: number
  readonly affinity?: AffinityOptions
  /** Without keys: the least loaded replica gets each turn. */
  readonly isOff?: true
  /** The part of all conversations that begin with the most used system prompt. */
  readonly hottest?: number
  /** The part of the replicas that are replaced each minute. */
  readonly churn?: number
  readonly systemTokens?: readonly [number, number]
  /** The end of the system prompt that only one conversation has. */
  readonly ownSystemTokens?: number
  /** Documents, one of which begins each conversation's first message. */
  readonly documents?: { readonly count: number; readonly tokens: number }
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
  /** Turns that stayed in the zone of their process. */
  readonly near: number
  /** Turns of a known conversation that went elsewhere than the turn before, while that replica was there. */
  readonly moved: number
  /** The mean over time of the highest load by the mean load, as the first process believes them. */
  readonly balance: number
  /** The same of what the replicas have to read and write. */
  readonly trueBalance: number
  /** The same of their requests. */
  readonly requests: number
  /** The tokens that the busiest replica has read, by the mean. */
  readonly read: number
}

const groups = 200
const tokensPerSecond = 25
const promptTokensPerSecond = 5000
const charsPerToken = 4

/** A part of a prompt. Its name stands for all that comes before it, too. */
type Segment = { readonly name: string; readonly tokens: number }

type Conversation = {
  readonly id: number
  readonly pod: number
  readonly messages: Message[]
  readonly segments: Segment[]
  /** What comes before its first question, in the first message. */
  readonly document: string
  tokens: number
  turnsLeft: number
  lastReplica: string | undefined
}

/** Runs an event simulation: conversations that think and ask, replicas that read, write and keep what fits into their caches. */
export function simulateFleet(workload: FleetWorkload): FleetMeasure {
  const { replicas, conversations, turns, churn = 0, hottest = 0.1, documents } = workload
  const { systemTokens = [500, 3500], thinkMs = 30_000, turnsOfConversation = 6, cacheTokens = 200_000 } = workload
  const { pods: podCount = 1, ownSystemTokens = 0, unseen = 0 } = workload
  const random = createRandom(workload.seed)
  const exponential = (mean: number) => -mean * Math.log(1 - random())
  const ids = Array.from({ length: replicas }, (_, index) => `http://replica-${index}:8000/v1`)
  const { zones = [replicas] } = workload
  const zoneOfReplica = zones.flatMap((count, zone) => Array.from({ length: count }, () => zone))
  const pods = Array.from(
    { length: podCount },
    (_, pod) =>
      new Pool<PoolEndpoint>(
        ids
          .map((id, index) => ({ id, weight: 1, ...(zoneOfReplica[index] !== pod % zones.length && { isFar: true as const }) }))
          .filter((_, index) => pod % 2 === 0 || index >= unseen * replicas),
        { breaker: { random }, ...(workload.affinity !== undefined && { affinity: workload.affinity }) },
      ),
  )
  const systemSizes = Array.from({ length: groups }, () =>
    Math.round(systemTokens[0] + random() * (systemTokens[1] - systemTokens[0])),
  )
  /** How many caches have each segment. */
  const copies = new Map<string, number>()
  const servers = new Map(ids.map((id) => [id, new Server(cacheTokens, copies)]))
  const events = new Agenda()
  let nextId = 0
  let nextReplica = replicas
  let meanOutput = 400
  const sums = {
    turns: 0,
    near: 0,
    prompt: 0,
    hit: 0,
    ideal: 0,
    moved: 0,
    known: 0,
    balance: 0,
    trueBalance: 0,
    requests: 0,
    samples: 0,
  }
  const warmUp = conversations * (workload.warmUp ?? 3)
  let taken = 0

  const begin = (): Conversation => {
    const id = nextId++
    const group = random() < hottest ? 0 : Math.floor(random() * groups)
    const shared = { name: `g${group}`, tokens: systemSizes[group] ?? 0 }
    const own = ownSystemTokens === 0 ? [] : [{ name: `c${id} system`, tokens: ownSystemTokens }]
    const document = documents === undefined ? [] : [documentOf(group, Math.floor(random() * documents.count), documents.tokens)]
    const segments: Segment[] = [shared, ...own, ...document]
    return {
      id,
      pod: Math.floor(random() * podCount),
      messages: [{ role: 'system', content: [{ type: 'text', text: textOf(shared) + own.map(textOf).join('') }] }],
      segments,
      document: document.map(textOf).join(''),
      tokens: segments.reduce((sum, { tokens }) => sum + tokens, 0),
      turnsLeft: 1 + Math.floor(exponential(turnsOfConversation - 0.5)),
      lastReplica: undefined,
    }
  }

  const ask = (given: Conversation, nowMs: number): void => {
    const conversation = given.turnsLeft > 0 ? given : begin()
    const { id, segments, messages } = conversation
    const pool = pods[workload.keepsClients === true ? conversation.pod : Math.floor(random() * podCount)] as Pool<PoolEndpoint>
    const idealTokens = leading(segments, ({ name }) => copies.has(name))
    const question = { name: `c${id} ${messages.length}`, tokens: Math.round(30 + exponential(120)) }
    const before = messages.length === 1 ? conversation.document : ''
    messages.push({ role: 'user', content: [{ type: 'text', text: before + textOf(question) }] })
    segments.push(question)
    conversation.tokens += question.tokens
    const prompt: Prompt = { type: 'chat', ...plainChat, messages }
    const promptTokens = conversation.tokens
    const outputTokens = Math.round(50 + exponential(350))
    const keys = workload.isOff === true ? [] : affinityKeys(prompt)
    const lease = pool.acquire({ nowMs, tokens: promptTokens + 2 * meanOutput, promptTokens, affinityKeys: keys })
    if (lease.type === 'none') throw new Error('a healthy fleet has no free replica')
    const server = servers.get(lease.endpoint.id) as Server
    const cached = leading(segments, (segment) => server.has(segment))
    const load = promptTokens - cached + 2 * meanOutput
    server.begin(load)
    taken += 1
    if (taken > warmUp) {
      sums.turns += 1
      if (lease.endpoint.isFar !== true) sums.near += 1
      sums.prompt += promptTokens
      sums.hit += cached
      sums.ideal += idealTokens
      server.readTokens += promptTokens - cached
      if (conversation.lastReplica !== undefined && pool.has(conversation.lastReplica)) {
        sums.known += 1
        if (conversation.lastReplica !== lease.endpoint.id) sums.moved += 1
      }
    }
    conversation.lastReplica = lease.endpoint.id
    const serviceMs = (1000 * (promptTokens - cached)) / promptTokensPerSecond + (1000 * outputTokens) / tokensPerSecond
    events.add(nowMs + serviceMs, (endMs) => answer({ conversation, lease, server, cached, load, outputTokens }, endMs))
  }

  const answer = ({ conversation, lease, server, cached, load, outputTokens }: Answered, nowMs: number): void => {
    const { id, messages, segments } = conversation
    lease.learn(conversation.tokens, cached)
    lease.release({ type: 'ok' }, nowMs)
    server.end(load)
    meanOutput += (outputTokens - meanOutput) / 100
    const reply = { name: `c${id} ${messages.length}`, tokens: outputTokens }
    messages.push({ role: 'assistant', parts: [{ type: 'text', text: textOf(reply) }] })
    segments.push(reply)
    conversation.tokens += outputTokens
    conversation.turnsLeft -= 1
    server.write(segments)
    events.add(nowMs + exponential(thinkMs), (askMs) => ask(conversation, askMs))
  }

  const sample = (nowMs: number): void => {
    if (taken > warmUp) {
      const believed = (pods[0] as Pool<PoolEndpoint>).describe(nowMs).map(({ outstandingTokens }) => outstandingTokens)
      sums.balance += highestByMean(believed)
      sums.trueBalance += highestByMean(Array.from(servers.values(), ({ load }) => load))
      sums.requests += highestByMean(Array.from(servers.values(), ({ active }) => active))
      sums.samples += 1
    }
    events.add(nowMs + 500, sample)
  }

  const report = (nowMs: number): void => {
    for (const [id, { active }] of servers) for (const pool of pods) pool.reportLoad(id, { running: active, waiting: 0 }, nowMs)
    events.add(nowMs + (workload.reportMs ?? 0), report)
  }

  const replace = (nowMs: number): void => {
    const present = [...servers.keys()]
    const gone = present[Math.floor(random() * present.length)] as string
    const id = `http://replica-${nextReplica++}:8000/v1`
    for (const pool of pods) {
      pool.remove(gone, nowMs)
      pool.add({ id, weight: 1 }, nowMs)
    }
    servers.get(gone)?.clear()
    servers.delete(gone)
    servers.set(id, new Server(cacheTokens, copies))
    events.add(nowMs + 60_000 / (churn * replicas), replace)
  }

  for (let index = 0; index < conversations; index++) {
    const conversation = begin()
    events.add(random() * thinkMs, (nowMs) => ask(conversation, nowMs))
  }
  events.add(0, sample)
  if (churn > 0) events.add(0, replace)
  if (workload.reportMs !== undefined) events.add(0, report)
  while (sums.turns < turns) events.next()
  return {
    turns: sums.turns,
    ofIdeal: sums.hit / sums.ideal,
    hit: sums.hit / sums.prompt,
    near: sums.near / sums.turns,
    moved: sums.moved / sums.known,
    balance: sums.balance / sums.samples,
    trueBalance: sums.trueBalance / sums.samples,
    requests: sums.requests / sums.samples,
    read: highestByMean(Array.from(servers.values(), ({ readTokens }) => readTokens)),
  }
}

type Answered = {
  readonly conversation: Conversation
  readonly lease: Lease<PoolEndpoint>
  readonly server: Server
  readonly cached: number
  readonly load: number
  readonly outputTokens: number
}

/** A replica: its requests, and the segments that it has read; what was used longest ago gives way, the end of a prompt before its beginning. */
class Server {
  readonly #room: number
  readonly #copies: Map<string, number>
  readonly #sizes = new Map<string, number>()
  #used = 0
  load = 0
  active = 0
  readTokens = 0

  constructor(room: number, copies: Map<string, number>) {
    this.#room = room
    this.#copies = copies
  }

  begin(load: number): void {
    this.load += load
    this.active += 1
  }

  end(load: number): void {
    this.load -= load
    this.active -= 1
  }

  has({ name }: Segment): boolean {
    return this.#sizes.has(name)
  }

  write(segments: readonly Segment[]): void {
    for (const { name, tokens } of segments.toReversed()) {
      this.#forget(name)
      this.#used += tokens
      this.#sizes.set(name, tokens)
      this.#copies.set(name, (this.#copies.get(name) ?? 0) + 1)
    }
    for (const name of this.#sizes.keys()) {
      if (this.#used <= this.#room) return
      this.#forget(name)
    }
  }

  clear(): void {
    for (const name of this.#sizes.keys()) this.#forget(name)
  }

  #forget(name: string): void {
    const tokens = this.#sizes.get(name)
    if (tokens === undefined) return
    this.#used -= tokens
    this.#sizes.delete(name)
    const left = (this.#copies.get(name) ?? 0) - 1
    if (left > 0) this.#copies.set(name, left)
    else this.#copies.delete(name)
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

/** The tokens of the segments before the first that is missing. */
function leading(segments: readonly Segment[], has: (segment: Segment) => boolean): number {
  let sum = 0
  for (const segment of segments) {
    if (!has(segment)) break
    sum += segment.tokens
  }
  return sum
}

function highestByMean(values: readonly number[]): number {
  return (Math.max(...values) * values.length) / values.reduce((sum, value) => sum + value, 0)
}

function documentOf(group: number, number: number, tokens: number): Segment {
  return { name: `g${group} d${number}`, tokens }
}

function textOf({ name, tokens }: Segment): string {
  return `${name} `.padEnd(tokens * charsPerToken, 'x')
}
