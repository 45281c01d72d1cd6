import type { Logger } from 'pino'
import type { BatchDeps, LineReply, SentLine } from '../../batches/deps.ts'
import { Batches } from '../../batches/service.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { ErrorCode } from '../../contract/errors.ts'
import type { FileStore } from '../../contract/file-store.ts'
import type { Principal } from '../../contract/principal.ts'
import type { Catalogue } from '../../contract/server/catalogue.ts'
import { findPrincipal, type KeyRules } from '../../http/access/auth.ts'
import { batchWords } from '../../http/run/batches.ts'
import type { Server } from '../../http/server.ts'
import { answerWhole } from '../serving/answer-fetch.ts'
import type { SharedSlots } from '../sharing/shared-slots.ts'
import type { State } from '../state/open-state.ts'

type Parts = {
  readonly log: Logger
  readonly live: State['live']
  readonly store: State['store']
  readonly files: FileStore | undefined
  readonly models: Catalogue
  readonly metrics: { batchRequestEnded: BatchDeps['onEnded']; batchRequestsLeft: BatchDeps['onLeft'] }
  readonly serverShares: Pick<SharedSlots, 'look'>
  /** What answers the lines. */
  server(): Server
}

/** The batches of a server that has a place for them. */
export function openBatches(
  config: LoadedConfig,
  { log, live, store, files, models, metrics, serverShares, server }: Parts,
): Batches | undefined {
  if (store === undefined || files === undefined) return undefined
  return new Batches({
    store: store.batches,
    files,
    words: batchWords,
    models,
    send: (line) => sendLine(server(), line),
    findPrincipal: (keyHash) => findOwner(live.access.auth, keyHash),
    maxLineBytes: config.server.bodyLimitBytes,
    wallClock: Date.now,
    onEnded: metrics.batchRequestEnded,
    onLeft: (count) => {
      metrics.batchRequestsLeft(count)
      serverShares.look(count > 0)
    },
    onFailure: (err, what) => log.warn({ err }, what),
  })
}

/** Another process may have made the key a moment ago. */
async function findOwner(rules: KeyRules, keyHash: string | undefined): Promise<Principal | undefined> {
  const find = () => findPrincipal(rules, keyHash, Date.now())
  const known = find()
  if (known !== undefined || rules.refresh === undefined) return known
  await rules.refresh()
  return find()
}

const headers = { host: 'batch', 'content-type': 'application/json' }

/** Sends a line as a request without a socket. */
async function sendLine(server: Server, { endpoint, body, signal, ...sender }: SentLine): Promise<LineReply> {
  let code: ErrorCode | undefined
  const onFailed = (failure: ErrorCode) => {
    code = failure
  }
  const from = { ...sender, onFailed }
  const given = { method: 'POST', url: endpoint, headers, body, signal, sender: from }
  const { status, headers: sent, body: text } = await answerWhole(server, given)
  const retryAfter = Number(sent['retry-after'])
  return {
    status,
    requestId: String(sent['x-request-id'] ?? ''),
    body: text,
    ...(code !== undefined && { code }),
    ...(retryAfter > 0 && { retryAfterMs: retryAfter * 1000 }),
  }
}
