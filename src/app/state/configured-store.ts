import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { networkReason } from '../../canonical/failure-reason.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { isPostgresUrl } from '../../config/sections/storage-schema.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import { isServerStarting } from '../../store/failure.ts'
import type { DatabaseLocation, OpenStore } from '../../store/open-store.ts'

const dayMs = 86_400_000
const pruneEveryMs = 600_000
/** A clock that has moved by more, beyond the time that passed, was set, or the machine was asleep. */
const longestDriftMs = 60_000
/** How long a server waits at its start for PostgreSQL, which is often started together with it, and how often it tries. */
const longestWaitMs = 60_000
const connectAgainMs = 500

type StoreConfig = Pick<LoadedConfig, 'storage' | 'home'>

/**
 * The store of a configuration, which deletes what has expired from time to time. Waits for a PostgreSQL that is still starting. Otherwise
 * as `connectStore`.
 */
export async function openConfiguredStore(
  config: StoreConfig,
  log: Logger,
  waitMs = longestWaitMs,
): Promise<OpenStore | undefined> {
  const store = await connectWhenStarted(config, log, waitMs)
  return store && withPruning(store, log)
}

async function connectWhenStarted(config: StoreConfig, log: Logger, waitMs: number): Promise<OpenStore | undefined> {
  const endMs = performance.now() + waitMs
  for (let isWaiting = false; ; isWaiting = true) {
    try {
      return await connectStore(config)
    } catch (error) {
      if (locate(config)?.type !== 'postgres' || !isServerStarting(error) || performance.now() > endMs) throw error
      if (!isWaiting) log.warn(`waiting up to ${waitMs / 1000} s for PostgreSQL: ${messageOf(error)}`)
    }
    await pause(connectAgainMs)
  }
}

/** Undefined for `off`. Throws `invalid-request` when the store cannot be opened. */
export async function connectStore({ storage, home }: StoreConfig): Promise<OpenStore | undefined> {
  const location = locate({ storage, home })
  if (location === undefined) return undefined
  const { ttlDays, conversationTtlDays, maxBytes } = storage
  try {
    // Loaded only here: its packages are a tenth of everything that a start loads.
    const { openStore } = await import('../../store/open-store.ts')
    return await openStore({
      database: location,
      maxBytes,
      ...(ttlDays !== 'never' && { responseTtlMs: ttlDays * dayMs }),
      ...(conversationTtlDays !== 'never' && { conversationTtlMs: conversationTtlDays * dayMs }),
    })
  } catch (error) {
    const advice = `${location.type === 'postgres' ? 'start that server, ' : ''}change \`storage.database\`, or set it to \`off\``
    const message = `the store ${describeLocation(location)} cannot be opened: ${reasonOf(error)}; ${advice}`
    throw new AppError('invalid-request', message, { cause: error })
  }
}

/** The same, if it is one that several servers may share. */
export async function connectSharedStore(config: StoreConfig): Promise<OpenStore | undefined> {
  return locate(config)?.type === 'postgres' ? connectStore(config) : undefined
}

/** Where the store of a configuration is, for people: without the password of a URL. */
export function describeStore(config: StoreConfig): string {
  const location = locate(config)
  return location === undefined ? 'off' : describeLocation(location)
}

/** Undefined for `off`. */
function locate({ storage, home }: StoreConfig): DatabaseLocation | undefined {
  const { database = join(home, 'store.db') } = storage
  if (database === 'off') return undefined
  return isPostgresUrl(database) ? { type: 'postgres', url: database } : { type: 'sqlite', path: database }
}

/** Parameters of a URL are left out too: they may contain a password. */
function describeLocation(location: DatabaseLocation): string {
  if (location.type === 'sqlite') return `'${location.path}'`
  const { protocol, username, host, pathname } = new URL(location.url)
  return `'${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}'`
}

/** What is deleted is gone for good, so that a clock counts once it has gone on by itself for a while. */
function withPruning(store: OpenStore, log: Logger): OpenStore {
  let pruning = Promise.resolve()
  let driftMs = Date.now() - performance.now()
  const prune = () => {
    const beforeMs = driftMs
    driftMs = Date.now() - performance.now()
    if (Math.abs(driftMs - beforeMs) > longestDriftMs) return
    pruning = store
      .prune(Date.now())
      .catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'the store could not be pruned'))
  }
  const timer = setInterval(prune, pruneEveryMs)
  timer.unref()
  return {
    ...store,
    async close() {
      clearInterval(timer)
      await pruning
      await store.close()
    },
  }
}

/** The database's own words, without ours about a request. */
function reasonOf(error: unknown): string {
  return error instanceof AppError && error.code === 'invalid-request' ? messageOf(error) : networkReason(error)
}
