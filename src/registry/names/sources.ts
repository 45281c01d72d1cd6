import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { decodeUri } from '../../base/text/decode-uri.ts'
import { AppError } from '../../contract/errors.ts'
import { builtinFile, builtinFileNames } from './builtin-model.ts'
import { findCatalogued, relatedShortNames } from './catalogue.ts'

/** Where a model file comes from. Made only by `parseSource`, which rejects anything unsafe; other code relies on that. */
export type Source =
  | { readonly type: 'path'; readonly path: string }
  | {
      readonly type: 'hf'
      readonly owner: string
      readonly repo: string
      readonly file: string
      readonly revision: string
    }
  /** A repository without the name of a file, which is chosen when the model is fetched. */
  | { readonly type: 'hf-repository'; readonly owner: string; readonly repo: string; readonly revision: string }
  | { readonly type: 'url'; readonly url: string }
  /** One file inside a Python wheel. */
  | { readonly type: 'wheel'; readonly name: string; readonly version: string; readonly member: string }

/** A repository of Hugging Face. */
export type RepositorySource = Extract<Source, { type: 'hf-repository' }>

/** A source of one file that must be fetched. */
export type RemoteFileSource = Exclude<Source, { type: 'path' | 'hf-repository' }>

/** The forms that `parseSource` accepts, for messages. */
const sourceForms =
  './model.gguf, hf:OWNER/REPO[/FILE.gguf][@REVISION], https://HOST/FILE.gguf, wheel:NAME==VERSION#PATH/FILE.gguf or builtin:FILE.gguf'

/** Whether a text has the form of a source rather than of a model's name; short names of the catalogue are names, too. `parseSource` may still reject it. */
export function isSource(text: string): boolean {
  return isPath(text) || /^(builtin|hf|https?|wheel):/i.test(text)
}

/** Parses a written source. Throws `invalid-request` with what is wrong and the correct form. */
export function parseSource(text: string): Source {
  const catalogued = findCatalogued(text)
  if (catalogued !== undefined) return parseHuggingFace(catalogued.source)
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase()
  switch (scheme) {
    case undefined:
      return parsePath(text)
    case 'builtin':
      return parseBuiltin(text)
    case 'hf':
      return parseHuggingFace(text)
    case 'http':
    case 'https':
      return parseUrl(text)
    case 'wheel':
      return parseWheel(text)
    default:
      throw unknownForm(text, `'${scheme}:' is not known; `)
  }
}

/** The written form of a source, for messages. A URL loses its query, which may contain a key. */
export function formatSource(source: Source): string {
  switch (source.type) {
    case 'path':
      return source.path
    case 'hf':
      return `hf:${source.owner}/${source.repo}/${source.file}${writtenRevision(source)}`
    case 'hf-repository':
      return `hf:${source.owner}/${source.repo}${writtenRevision(source)}`
    case 'url': {
      const { origin, pathname } = new URL(source.url)
      return `${origin}${pathname}`
    }
    case 'wheel':
      return `wheel:${source.name}==${source.version}#${source.member}`
  }
}

/** The name of the model file itself, without its folders; of a repository, its name without `-GGUF`. */
export function sourceFileName(source: Source): string {
  switch (source.type) {
    case 'path':
      return lastSegment(source.path.replaceAll('\\', '/'))
    case 'hf':
      return lastSegment(source.file)
    case 'hf-repository':
      return source.repo.replace(/[-_.]gguf$/i, '')
    case 'url':
      return urlFileName(source.url)
    case 'wheel':
      return lastSegment(source.member)
  }
}

/** The path of a downloaded source, relative to the models folder. Different sources never share a file. */
export function landingPath(source: RemoteFileSource): string {
  switch (source.type) {
    case 'hf':
      return join('hf', ...[source.owner, source.repo, source.revision, ...source.file.split('/')].map(safeSegment))
    case 'url': {
      // The query may select another file, and paths may be long: the URL's hash keeps files apart.
      const hash = createHash('sha256').update(source.url).digest('hex').slice(0, 16)
      return join('url', safeSegment(new URL(source.url).host), hash, safeSegment(urlFileName(source.url)))
    }
    case 'wheel':
      return join('wheel', ...[`${source.name}==${source.version}`, ...source.member.split('/')].map(safeSegment))
  }
}

/** The source of a file below the models folder, by its path there; undefined for a URL, which the path does not say. */
export function sourceOfLanding(path: string): Source | undefined {
  const [type, ...segments] = path.split(/[\\/]/).map(decodeUri)
  if (type === 'hf' && segments.length >= 4) {
    const [owner = '', repo = '', revision = '', ...file] = segments
    return { type: 'hf', owner, repo, revision, file: file.join('/') }
  }
  const [, name = '', version = ''] = /^(.+)==(.+)$/.exec(segments[0] ?? '') ?? []
  if (type !== 'wheel' || name === '') return undefined
  return { type: 'wheel', name, version, member: segments.slice(1).join('/') }
}

/** Makes a path absolute: `~/` is the home folder, other relative paths are relative to `base`. */
export function resolvePath(path: string, { base, userHome }: { base: string; userHome: string }): string {
  return path === '~' || path.startsWith('~/') ? join(userHome, path.slice(1)) : resolve(base, path)
}

/** What is wrong with the path of a file inside a repository or wheel; undefined when it can be fetched. */
export function fileProblem(file: string): string | undefined {
  if (!/\.gguf$/i.test(file)) return 'name the file too; it ends in .gguf'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters in a file name are what is refused
  const isUnsafe = /[\\\x00-\x1f]/.test(file) || file.split('/').some((segment) => /^\.{0,2}$/.test(segment))
  if (isUnsafe) return `'${file}' is not a plain path inside the source`
  if (/-\d{5}-of-\d{5}\.gguf$/i.test(file)) {
    return 'this is one part of a split model; fetch all parts yourself and give the path of the first'
  }
  return undefined
}

/** `http:` does not prove which server answers: it is allowed on loopback only. */
export function isTrustedUrl(url: URL): boolean {
  if (url.protocol === 'https:') return true
  const { hostname } = url
  return url.protocol === 'http:' && (hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname))
}

/** Whether a text begins like a path, or ends like a model file. */
function isPath(text: string): boolean {
  return /^([./~\\]|[a-z]:[\\/])/i.test(text) || /\.gguf$/i.test(text)
}

function parsePath(text: string): Source {
  if (!isPath(text) || text.includes('\0')) throw unknownForm(text)
  return { type: 'path', path: text }
}

function unknownForm(text: string, why = ''): AppError {
  const related = relatedShortNames(text)
  if (related.length === 0) return invalid(text, `${why}write ${sourceForms}, or a short name of \`dragoman search\``)
  return invalid(text, `short names like it are ${related.join(', ')}`)
}

/** A file that comes with Dragoman. */
function parseBuiltin(text: string): Source {
  const name = text.slice('builtin:'.length)
  const path = builtinFile(name)
  if (path === undefined)
    throw invalid(text, `no file '${name}' comes with Dragoman; there are ${builtinFileNames.join(' and ')}`)
  return { type: 'path', path }
}

function parseHuggingFace(text: string): Source {
  const [, path = '', revision = 'main'] = /^hf:(.*?)(?:@([^@]*))?$/is.exec(text) ?? []
  const [owner = '', repo = '', ...folders] = path.split('/')
  const file = folders.join('/')
  const isName = (name: string) => /^[\w.-]+$/.test(name) && !/^\.+$/.test(name)
  if (!isName(owner) || !isName(repo)) throw invalid(text, 'write hf:OWNER/REPO[/FILE.gguf][@REVISION]')
  if (!revision.split('/').every(isName)) throw invalid(text, `'${revision}' is not a branch, tag or commit`)
  if (folders.length === 0) return { type: 'hf-repository', owner, repo, revision }
  checkFile(text, file)
  return { type: 'hf', owner, repo, file, revision }
}

function parseUrl(text: string): Source {
  if (!URL.canParse(text)) throw invalid(text, 'this is not a URL')
  const url = new URL(text)
  if (!isTrustedUrl(url)) throw invalid(text, 'http:// is allowed on loopback only; use https://')
  if (url.username !== '' || url.password !== '')
    throw invalid(`${url.protocol}//${url.host}`, 'a URL must not contain a user or password')
  url.hash = ''
  return { type: 'url', url: url.href }
}

function parseWheel(text: string): Source {
  const match = /^wheel:([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)==([a-z0-9][a-z0-9.!+_-]*)#(.*)$/is.exec(text)
  if (match === null) throw invalid(text, 'write wheel:NAME==VERSION#PATH/FILE.gguf')
  const [, name = '', version = '', member = ''] = match
  checkFile(text, member)
  return { type: 'wheel', name, version, member }
}

function checkFile(text: string, file: string): void {
  const problem = fileProblem(file)
  if (problem !== undefined) throw invalid(text, problem)
}

/** Reversible, so that two names never collide. `*` is not allowed in file names on Windows; `=` is allowed everywhere. */
function safeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll('*', '%2A').replaceAll('%3D', '=')
}

function urlFileName(url: string): string {
  const name = lastSegment(new URL(url).pathname)
  const safe = decodeUri(name)
    .replace(/[^\w.-]+/g, '-')
    .slice(-100)
  return /^\.*$/.test(safe) ? 'model.gguf' : safe
}

function writtenRevision({ revision }: { readonly revision: string }): string {
  return revision === 'main' ? '' : `@${revision}`
}

function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function invalid(text: string, why: string): AppError {
  return new AppError('invalid-request', `'${text}' is not a model source: ${why}`)
}
