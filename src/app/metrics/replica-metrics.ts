import type { Registry } from 'prom-client'
import type {
  AffinityOutcome,
  AttemptEnd,
  AttemptOutcome,
  AttemptStart,
  EjectionReason,
  FleetObserver,
} from '../../contract/attempts.ts'
import type { ServerReport } from '../../contract/engine.ts'
import { isCacheHit, type Usage } from '../../contract/usage.ts'
import { Distribution } from './distribution.ts'
import { addHistogram, addMetric, type Declaration, type Labels } from './exposition.ts'
import type { ReadLoad } from './model-metrics.ts'
import { addCounter } from './tallies.ts'

/** The servers of a model with labels of their own. */
const maxServers = 200
const other = 'other'
const states: readonly ServerReport['state'][] = ['healthy', 'half-open', 'unhealthy', 'draining']
/** Few, since each server has them. */
const firstChunkBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** The counts of one server since it became known. */
class ReplicaTally {
  readonly outcomes = new Map<AttemptOutcome, number>()
  readonly ejections = new Map<EjectionReason, number>()
  readonly firstChunk = new Distribution(firstChunkBounds)
  promptTokens = 0
  cachedTokens = 0
  retries = 0

  add({ retry }: AttemptStart, { outcome, firstChunkMs, usage }: AttemptEnd): void {
    increment(this.outcomes, outcome)
    if (retry > 0) this.retries += 1
    if (firstChunkMs !== undefined) this.firstChunk.observe(firstChunkMs / 1000)
    if (usage === undefined) return
    this.promptTokens += usage.inputTokens
    this.cachedTokens += usage.cachedInputTokens
  }

  cacheOutcome(affinity: AffinityOutcome, usage: Usage): CacheOutcome {
    if (isCacheHit(usage)) return 'hit'
    return this.cachedTokens === 0 ? 'unreported' : misses[affinity]
  }
}

type CacheOutcome = 'hit' | 'lost' | 'moved' | 'new' | 'unreported'

const misses: Readonly<Record<AffinityOutcome, CacheOutcome>> = { known: 'lost', home: 'new', moved: 'moved', new: 'new' }

/**
 * Numbers for each server of remote models. At most 200 servers of a model have labels of their own, the first that were seen; all others
 * share `other`, so that a large fleet does not flood Prometheus.
 */
class ReplicaTallies {
  readonly #models = new Map<string, Map<string, ReplicaTally>>()

  at(model: string, server: string): ReplicaTally {
    const servers = this.#models.get(model) ?? new Map<string, ReplicaTally>()
    this.#models.set(model, servers)
    const known = servers.get(server)
    if (known !== undefined) return known
    const label = this.#labelIn(servers, server)
    const tally = servers.get(label) ?? new ReplicaTally()
    servers.set(label, tally)
    return tally
  }

  labelOf(model: string, server: string): string {
    return this.#labelIn(this.#models.get(model) ?? new Map(), server)
  }

  #labelIn(servers: ReadonlyMap<string, ReplicaTally>, server: string): string {
    return servers.has(server) || servers.size < maxServers ? server : other
  }

  /** Gives the labels of removed servers to others, if labels are scarce, and forgets removed models. */
  prune(present: ReadonlyMap<string, ReadonlySet<string>>): void {
    for (const [model, servers] of this.#models) {
      const here = present.get(model)
      if (here === undefined) this.#models.delete(model)
      else if (new Set([...servers.keys(), ...here]).size >= maxServers) {
        for (const server of servers.keys()) if (server !== other && !here.has(server)) servers.delete(server)
      }
    }
  }

  *entries(): Iterable<readonly [Labels, ReplicaTally]> {
    for (const [model, servers] of this.#models) {
      for (const [server, tally] of servers) yield [{ model, server }, tally]
    }
  }
}

const names = ['model', 'server']

export function addReplicaMetrics(registry: Registry, readLoad: ReadLoad) {
  const tallies = new ReplicaTallies()
  addServerGauges(registry, readLoad, tallies)
  addAttemptTotals(registry, tallies)
  const affinities = addCounter(registry, {
    name: 'dragoman_affinity_total',
    help: 'Answered attempts by what the server had cached: most of the prompt (hit), or less (lost, moved, new); or it never says (unreported).',
    labelNames: ['model', 'outcome'],
  })

  return {
    observerOf: (model: string): FleetObserver => ({
      attemptEnded: (start, end) => {
        const { server, affinity } = start
        const tally = tallies.at(model, server)
        tally.add(start, end)
        if (affinity !== undefined && end.usage !== undefined)
          affinities.at(model, tally.cacheOutcome(affinity, end.usage)).total += 1
      },
      ejected: (server, reason) => increment(tallies.at(model, server).ejections, reason),
    }),
  }
}

function addServerGauges(registry: Registry, readLoad: ReadLoad, tallies: ReplicaTallies): void {
  /** The sum of a number over the servers behind each label. */
  function* sums(read: (report: ServerReport) => number): Iterable<readonly [Labels, number]> {
    for (const { id, servers = [] } of readLoad()) {
      const ofModel = new Map<string, number>()
      for (const report of servers) {
        const server = tallies.labelOf(id, report.host)
        ofModel.set(server, (ofModel.get(server) ?? 0) + read(report))
      }
      for (const [server, sum] of ofModel) yield [{ model: id, server }, sum]
    }
  }
  addMetric(
    registry,
    {
      type: 'gauge',
      name: 'dragoman_replica_state',
      help: 'Servers in this state behind the label: 1 or 0, more for `other`; of several processes, the mean.',
      labelNames: [...names, 'state'],
      aggregator: 'average',
    },
    function* () {
      const load = readLoad()
      tallies.prune(new Map(load.map(({ id, servers = [] }) => [id, new Set(servers.map(({ host }) => host))])))
      // Assigns each label once, so that it is the same in all metrics.
      for (const { id, servers = [] } of load) for (const { host } of servers) tallies.at(id, host)
      for (const state of states) {
        for (const [labels, sum] of sums((report) => (report.state === state ? 1 : 0))) yield [{ ...labels, state }, sum]
      }
    },
  )
  const addGauge = (declaration: Omit<Declaration, 'labelNames'>, read: (report: ServerReport) => number) =>
    addMetric(registry, { type: 'gauge', labelNames: names, ...declaration }, () => sums(read))
  addGauge(
    { name: 'dragoman_replica_active', help: 'Requests that the server is answering.' },
    ({ activeRequests }) => activeRequests,
  )
  addGauge(
    { name: 'dragoman_replica_load_tokens', help: 'The estimated cost of those requests, in tokens.' },
    ({ outstandingTokens }) => outstandingTokens,
  )
  addMetric(
    registry,
    {
      type: 'gauge',
      name: 'dragoman_endpoints',
      help: 'Servers of the model, by what named them: config, dns, file or kubernetes.',
      labelNames: ['model', 'source'],
      aggregator: 'max',
    },
    function* () {
      for (const { id, servers = [] } of readLoad()) {
        const counts = new Map<string, number>()
        for (const { source = 'config' } of servers) increment(counts, source)
        for (const [source, count] of counts) yield [{ model: id, source }, count]
      }
    },
  )
}

function addAttemptTotals(registry: Registry, tallies: ReplicaTallies): void {
  const addTotal = (declaration: Omit<Declaration, 'labelNames'>, read: (tally: ReplicaTally) => number) =>
    addMetric(registry, { type: 'counter', labelNames: names, ...declaration }, function* () {
      for (const [labels, tally] of tallies.entries()) yield [labels, read(tally)]
    })
  const addTotalBy = <Name extends string>(
    label: string,
    declaration: Omit<Declaration, 'labelNames'>,
    read: (tally: ReplicaTally) => ReadonlyMap<Name, number>,
  ) =>
    addMetric(registry, { type: 'counter', labelNames: [...names, label], ...declaration }, function* () {
      for (const [labels, tally] of tallies.entries()) {
        for (const [name, count] of read(tally)) yield [{ ...labels, [label]: name }, count]
      }
    })
  addTotalBy(
    'outcome',
    {
      name: 'dragoman_replica_requests_total',
      help: 'Attempts at the server by outcome: ok, busy, failed (the server), refused (the request) or cancelled.',
    },
    ({ outcomes }) => outcomes,
  )
  addTotal(
    { name: 'dragoman_replica_retries_total', help: 'Those that repeated or continued what another attempt could not finish.' },
    ({ retries }) => retries,
  )
  addHistogram(
    registry,
    {
      name: 'dragoman_replica_ttft_seconds',
      help: 'Time from sending a request to the server to the first event of its reply.',
      labelNames: names,
    },
    function* () {
      for (const [labels, { firstChunk }] of tallies.entries()) yield [labels, firstChunk]
    },
  )
  addTotal(
    { name: 'dragoman_replica_prompt_tokens_total', help: 'Prompt tokens of requests that the server answered.' },
    ({ promptTokens }) => promptTokens,
  )
  addTotal(
    { name: 'dragoman_replica_cached_tokens_total', help: 'Those that the server had in its cache.' },
    ({ cachedTokens }) => cachedTokens,
  )
  addTotalBy(
    'reason',
    {
      name: 'dragoman_replica_ejections_total',
      help: 'How often the server got no more requests for a while: unreachable, failures, health-check or silent.',
    },
    ({ ejections }) => ejections,
  )
}

function increment<Name>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
