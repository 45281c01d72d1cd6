import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { FileFilter, ModelWanted } from '../../contract/server/lifecycle.ts'
import { readAccessKey } from '../wire/access-key.ts'
import { list } from '../wire/first-fault.ts'
import { form } from '../wire/form.ts'
import { preview } from '../wire/preview.ts'
import { bodyReader } from '../wire/validate.ts'
import { between, nonEmptyText, text } from '../wire/wire-types.ts'
import { downloadFields } from './fields.ts'

/** More patterns than a request needs, and few enough to compare with the names of a large repository. */
const patterns = () =>
  list(nonEmptyText.max(200), {
    error: 'an array of patterns',
    max: { count: 100, error: 'an array of at most 100 patterns' },
  }).nullish()
const weekSeconds = 7 * 24 * 60 * 60
export const downloadSchema = form({
  repo_id: nonEmptyText,
  revision: nonEmptyText.nullish(),
  token: text,
  include: patterns(),
  exclude: patterns(),
  timeout: between(1, weekSeconds),
})
const readBody = bodyReader(downloadSchema, downloadFields)
const repositoryName = /^[\w-][\w.-]*\/[\w-][\w.-]*$/
const revisionName = /^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/

type DecodedDownload = {
  readonly wanted: ModelWanted & { readonly files?: FileFilter }
  readonly timeoutMs: number | undefined
  readonly ignored: readonly string[]
}

/** tabbyAPI's `POST /v1/download`. Throws `invalid-request` or `unsupported-field` with `param`. */
export function decodeDownload(body: unknown): DecodedDownload {
  const { wire, ignored } = readBody(body)
  const { repo_id: repository, revision, timeout } = wire
  const token = readAccessKey('token', wire.token)
  if (!repositoryName.test(repository)) throw malformed('repo_id', 'OWNER/REPO', repository)
  if (typeof revision === 'string' && !revisionName.test(revision)) {
    throw malformed('revision', 'a branch, tag or commit', revision)
  }
  const include = wire.include ?? ['*']
  const exclude = wire.exclude ?? []
  for (const [param, list] of Object.entries({ include, exclude })) refuseSets(param, list)
  const takesAll = exclude.length === 0 && include.includes('*')
  return {
    wanted: {
      name: `hf:${repository}${typeof revision === 'string' ? `@${revision}` : ''}`,
      ...(token !== undefined && { token }),
      ...(!takesAll && { files: { include, exclude } }),
    },
    timeoutMs: typeof timeout === 'number' ? timeout * 1000 : undefined,
    ignored,
  }
}

/** tabbyAPI's names for the places of a download. */
export const nameDownloadField: NameOf = ([first]) => (first === 'files' ? 'include' : 'repo_id')

function refuseSets(param: string, list: readonly string[]): void {
  const set = list.find((pattern) => /[[\]]/.test(pattern))
  if (set === undefined) return
  const message = `${param} ${preview(set)} has a set of characters, which is not supported: use * and ?`
  throw new AppError('unsupported-field', message, { param })
}

function malformed(param: string, expected: string, value: string): AppError {
  return new AppError('invalid-request', `${param}: expected ${expected}, got ${preview(value)}`, { param })
}
