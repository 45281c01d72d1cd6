import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installedFrom } from '../process/test-tools.ts'
import type { DescribedCall, openDescribed } from './described-server.ts'
import type { Got } from './openapi-judge.ts'

/** Where scripts/installers/openapi-tools.mjs puts the generator. */
const generator = installedFrom('openapi-client', new URL('../../openapi/package.json', import.meta.url))
export const isGeneratorInstalled = existsSync(generator)
export const generatorHint = isGeneratorInstalled ? '' : ' (skipped: install it with `npm run openapi-tools`)'

type Described = Pick<Awaited<ReturnType<typeof openDescribed>>, 'app' | 'document' | 'calls'>

const run = async (folder: string, args: readonly string[]) =>
  (await promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 })).stdout

/** A client in a folder of its own: types by openapi-typescript, requests by openapi-fetch. */
export class OpenapiClient {
  readonly #folder: string
  readonly #server: Described

  private constructor(folder: string, server: Described) {
    this.#folder = folder
    this.#server = server
  }

  static async generate(server: Described): Promise<OpenapiClient> {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-openapi-'))
    await symlink(join(generator, 'node_modules'), join(folder, 'node_modules'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(server.document))
    await run(folder, ['node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'api.ts'])
    await writeFile(join(folder, 'calls.ts'), callsText(server))
    return new OpenapiClient(folder, server)
  }

  /** What the compiler says of the calls, and of what was recorded as the types of the replies. */
  async typeErrors(recorded: ReadonlyMap<string, Got>): Promise<string> {
    await writeFile(join(this.#folder, 'recorded.ts'), recordedText(this.#server.calls(), recorded))
    const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler']
    const more = ['--skipLibCheck', '--allowImportingTsExtensions', 'calls.ts', 'recorded.ts']
    try {
      return await run(this.#folder, ['node_modules/typescript/bin/tsc', ...options, ...more])
    } catch (error) {
      return String((error as { readonly stdout?: string }).stdout ?? error).slice(0, 5000)
    }
  }

  /** Sends each call; the statuses, by the names of calls. */
  async run(): Promise<ReadonlyMap<string, number>> {
    return new Map(Object.entries(JSON.parse(await run(this.#folder, ['calls.ts']))))
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }
}

function callsText({ app, calls }: Described): string {
  const made = calls().map(({ name, method, path, params, json, form, operation }) => {
    const { content = {} } = Object.values(operation.responses)[0] ?? {}
    const isEndless = method === 'GET' && content['text/event-stream'] !== undefined
    const fields = [
      ...(Object.keys(params).length > 0 ? [`params: { path: ${JSON.stringify(params)} }`] : []),
      ...(json === undefined ? [] : [`body: ${JSON.stringify(json)}`]),
      ...(form === undefined
        ? []
        : [`body: { ${path.includes('/images/') ? 'image' : 'file'}: 'Good morning.' }, bodySerializer: toForm`]),
      ...(content['application/json'] === undefined ? [`parseAs: '${isEndless ? 'stream' : 'text'}'`] : []),
    ]
    return `  ${JSON.stringify(name)}: () => client.${method}(${JSON.stringify(path)}, { ${fields.join(', ')} }),`
  })
  return `import createClient from 'openapi-fetch'
import type { paths } from './api.ts'

const client = createClient<paths>({ baseUrl: ${JSON.stringify(app.url)} })
function toForm(body: { file?: string; image?: string }): FormData {
  const form = new FormData()
  form.set('purpose', 'user_data')
  for (const [name, text] of Object.entries(body)) form.set(name, new Blob([text], { type: 'text/plain' }), 'a.txt')
  return form
}
const calls: Record<string, () => Promise<{ response: Response; data?: unknown }>> = {
${made.join('\n')}
}
const statuses: Record<string, number> = {}
for (const [name, call] of Object.entries(calls)) {
  const { response, data } = await call()
  statuses[name] = response.status
  if (data instanceof ReadableStream) await data.cancel()
}
console.log(JSON.stringify(statuses))
`
}

/** Each reply as a literal of its type: a key that the type lacks is an error, as one that it requires and that is not there. */
function recordedText(calls: readonly DescribedCall[], recorded: ReadonlyMap<string, Got>): string {
  const literals = calls.flatMap(({ name, method, path, operation }, index) => {
    const got = recorded.get(name)
    const isDescribed = operation.responses[got?.status ?? 0]?.content?.['application/json'] !== undefined
    if (got === undefined || !isDescribed || !got.type.startsWith('application/json') || path === '/openapi.json') return []
    const place = [path, method.toLowerCase(), 'responses'].map((key) => `[${JSON.stringify(key)}]`).join('')
    return [`export const reply${index}: paths${place}[${got.status}]['content']['application/json'] = ${got.text}`]
  })
  return `import type { paths } from './api.ts'\n${literals.join('\n')}\n`
}
