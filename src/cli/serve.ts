import { createApp } from '../app/create-app.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { ModelSummary } from '../http/deps.ts'
import { createConsole } from './console.ts'

/**
 * Runs the server until SIGTERM, SIGINT or SIGHUP, then drains and returns. Standard output gets one line, `listening on URL`;
 * everything else goes to standard error. Throws when nothing is left to serve.
 */
export async function serve(config: LoadedConfig): Promise<void> {
  const { log, progress, observer } = createConsole({ level: config.log.level })
  const onFetch = (model: string) => progress.note(fetchNote(config, model))
  const app = await createApp(config, { log, observer: { ...observer, onFetch } })
  const stopped = stopSignal()
  if (app.createdKey !== undefined) console.error(keyNotice(app.createdKey))
  const url = await app.listen()
  console.log(`listening on ${url}`)
  const settled = app.whenSettled().then(() => {
    progress.end()
    // A model that is loaded on demand is not ready yet.
    const model = app.models.find(({ state }) => state.type === 'ready')
    const needsKey = app.createdKey !== undefined || config.server.apiKeys !== undefined
    if (model !== undefined) progress.note(tryIt(url, model, needsKey))
  })
  try {
    const signal = await Promise.race([stopped, settled.then(() => stopped)])
    log.info({ signal }, 'draining')
  } finally {
    progress.end()
    await app.close()
  }
}

/** One Ctrl-C can arrive several times: from the terminal's process group, from npm, from a service manager. */
const sameSignalMs = 1000

/** Resolves with the first stop signal. Another one after more than a second ends the process at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | undefined
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstMs === undefined) {
        firstMs = performance.now()
        resolve(signal)
      } else if (performance.now() - firstMs > sameSignalMs) process.exit(1)
    }
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal)
    // After SIGHUP the terminal is gone; what is written to it fails, and that must not end the replies that still run.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  })
}

function fetchNote({ models }: LoadedConfig, id: string): string {
  const { standIn, aliases } = models.find((model) => model.id === id) ?? {}
  const meanwhile = standIn === undefined ? '' : `; until it is ready, ${standIn} serves ${aliases?.join(', ')}`
  return `fetching ${id}${meanwhile}`
}

function keyNotice(key: string): string {
  return [
    'This server is reachable from other machines and requires an API key, which is shown only once:',
    `  ${key}`,
    'Clients send it as `Authorization: Bearer …`.',
  ].join('\n')
}

function tryIt(url: string, model: ModelSummary, needsKey: boolean): string {
  const name = model.aliases.includes('default') ? 'default' : model.id
  const body = JSON.stringify({ model: name, stream: true, messages: [{ role: 'user', content: 'Say hello.' }] })
  const reachable = url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//127.0.0.1')
  return [
    `\n${model.id} is ready. Try it:\n`,
    `  curl -N ${reachable}/v1/chat/completions -H 'content-type: application/json' ${needsKey ? '-H "authorization: Bearer $DRAGOMAN_API_KEY" ' : ''}\\`,
    `    -d '${body}'\n`,
  ].join('\n')
}
