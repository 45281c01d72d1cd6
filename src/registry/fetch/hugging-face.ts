import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { isTrustedUrl, type RepositorySource, type Source } from '../names/sources.ts'
import { createWatchdog, requestFile } from './file-request.ts'
import { readText, requestJson } from './request-json.ts'

type FileSource = Extract<Source, { type: 'hf' }>

/** Has `HF_ENDPOINT` and `HF_TOKEN`. */
type Environment = Readonly<Record<string, string | undefined>>

export type RepositoryFile = { readonly path: string; readonly sizeBytes: number }

/** The base URL of `hf:` sources for a value of `HF_ENDPOINT`; an empty one counts as unset. */
export function huggingFaceAddress(endpoint: string | undefined): string {
  return endpoint === undefined || endpoint === '' ? 'https://huggingface.co' : endpoint
}

/** The URL of a file. Throws `invalid-request` when `HF_ENDPOINT` is not trusted. */
export function huggingFaceFileUrl({ owner, repo, revision, file }: FileSource, env: Environment): string {
  const path = file.split('/').map(encodeURIComponent).join('/')
  return `${trustedBase(env)}/${owner}/${repo}/resolve/${encodeURIComponent(revision)}/${path}`
}

/** The token to send, and the hint for a refusal. */
export function huggingFaceAccess({ HF_TOKEN }: Environment): { bearerToken: string | undefined; accessHint: string } {
  return HF_TOKEN === undefined || HF_TOKEN === ''
    ? { bearerToken: undefined, accessHint: 'for a private or gated repository, accept its terms and set HF_TOKEN' }
    : { bearerToken: HF_TOKEN, accessHint: 'HF_TOKEN may not be allowed to read this repository' }
}

type ListOptions = {
  readonly env: Environment
  readonly signal: AbortSignal | undefined
  readonly responseTimeoutMs: number
}

/** Far above any real repository; a server that lists without end is not followed. */
const maxPages = 50
const maxPageEntries = 10_000
const maxPageBytes = 4_000_000
const maxBytes = 16_000_000

const pageSchema = z.array(z.object({ type: z.string(), path: z.string(), size: z.number().optional() }))

/** All files of a repository. Throws `model-not-found` or `model-unavailable` with the host. */
export async function listRepository(
  { owner, repo, revision }: RepositorySource,
  { env, signal, responseTimeoutMs }: ListOptions,
): Promise<RepositoryFile[]> {
  const { bearerToken, accessHint } = huggingFaceAccess(env)
  const start = `${trustedBase(env)}/api/models/${owner}/${repo}/tree/${encodeURIComponent(revision)}?recursive=true`
  const files: RepositoryFile[] = []
  let leftBytes = maxBytes
  let url: string | undefined = start
  for (let page = 0; url !== undefined && page < maxPages; page += 1) {
    const watchdog = createWatchdog(signal)
    try {
      const request = {
        url,
        bearerToken,
        // Without a token the hub does not say whether a repository is missing or private.
        accessHint: `check the name ${owner}/${repo}; ${accessHint}`,
        missing: `no repository ${owner}/${repo} with the revision ${revision}`,
        responseTimeoutMs,
      }
      const { response, host } = await requestFile(request, watchdog)
      watchdog.within(responseTimeoutMs, `${host} did not send its list of files within ${responseTimeoutMs / 1000} s`)
      const text = await readText(response, {
        host,
        mostBytes: Math.min(leftBytes, maxPageBytes),
        signal: watchdog.signal,
        tooLong: () => notAList(host),
      })
      leftBytes -= Buffer.byteLength(text)
      const entries = readPage(text, host)
      for (const { type, path, size } of entries) if (type === 'file') files.push({ path, sizeBytes: size ?? 0 })
      url = nextPage(response, url)
    } finally {
      watchdog.end()
    }
  }
  return files
}

/** The JSON that the hub has at a path. Throws `model-unavailable` with the host. */
export async function requestHub(
  path: string,
  { env, signal, responseTimeoutMs }: ListOptions,
): Promise<{ readonly body: unknown; readonly host: string }> {
  const access = huggingFaceAccess(env)
  return requestJson({ url: `${trustedBase(env)}${path}`, ...access, missing: 'no such list', responseTimeoutMs }, signal)
}

function readPage(text: string, host: string): z.infer<typeof pageSchema> {
  try {
    const page: unknown = JSON.parse(text)
    // Each invalid entry would become a described fault.
    if (Array.isArray(page) && page.length > maxPageEntries) throw new Error(`a page has ${page.length} entries`)
    return pageSchema.parse(page)
  } catch (error) {
    throw notAList(host, error)
  }
}

function notAList(host: string, cause?: unknown): AppError {
  const message = `${host} did not send a list of the repository's files; name the file: hf:OWNER/REPO/FILE.gguf`
  return new AppError('model-unavailable', message, { cause })
}

/** The address of the next page, on the same server, since it gets the token. */
function nextPage(response: Response, url: string): string | undefined {
  const link = /<([^>]+)>;\s*rel="?next"?/.exec(response.headers.get('link') ?? '')?.[1]
  if (link === undefined || !URL.canParse(link, url)) return undefined
  // Only the query: a mirror passes on links to the hub's own address.
  const next = new URL(url)
  next.search = new URL(link, url).search
  return next.href
}

function trustedBase({ HF_ENDPOINT }: Environment): string {
  const base = huggingFaceAddress(HF_ENDPOINT)
  if (!URL.canParse(base) || !isTrustedUrl(new URL(base))) {
    throw new AppError('invalid-request', `HF_ENDPOINT is '${base}', which is not an https:// URL`)
  }
  return base.replace(/\/+$/, '')
}
