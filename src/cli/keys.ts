import { checkGroup } from '../app/keys/key-directory.ts'
import { keyId, keyScopes, type MadeKeys, type StoredKey } from '../app/keys/made-keys.ts'
import { given } from '../base/json.ts'
import { AppError } from '../contract/errors.ts'
import { keyName } from '../contract/principal.ts'
import { commandName } from './terminal/command-name.ts'
import { formatTable } from './terminal/table.ts'

export type NewKeyFlags = {
  readonly name?: string | undefined
  readonly scope?: readonly string[] | undefined
  readonly models?: readonly string[] | undefined
  readonly tools?: readonly string[] | undefined
  readonly rpm?: string | undefined
  readonly tpm?: string | undefined
  readonly tcpm?: string | undefined
  readonly tpd?: string | undefined
  readonly tpmo?: string | undefined
  readonly group?: string | undefined
  readonly expires?: string | undefined
}

const limitFlags = [
  ['rpm', 'requestsPerMinute'],
  ['tpm', 'tokensPerMinute'],
  ['tcpm', 'toolCallsPerMinute'],
  ['tpd', 'tokensPerDay'],
  ['tpmo', 'tokensPerMonth'],
] as const

/** The keys that Dragoman made, with the names of keys and of groups in the configuration. */
export type KeyPlace = { readonly made: MadeKeys; readonly takenNames: readonly string[]; readonly groups: readonly string[] }

/** Makes a key. Only the key goes to standard output, for `export DRAGOMAN_API_KEY="$(dragoman keys new)"`. */
export async function newKey({ made, takenNames, groups }: KeyPlace, flags: NewKeyFlags): Promise<void> {
  const { name, scope = ['inference'], models, tools, group, expires } = flags
  const faults: string[] = []
  const checked = <T>(read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      faults.push(AppError.from(error).message)
      return undefined
    }
  }
  if (name !== undefined) checked(() => checkName(name, takenNames))
  for (const one of scope) checked(() => checkScope(one))
  if (group !== undefined) checked(() => checkGroup(group, groups))
  const expiresAt = expires === undefined ? undefined : checked(() => readExpiry(expires, Date.now()))
  const limits = limitFlags.flatMap(([flag, field]) => {
    const text = flags[flag]
    return text === undefined ? [] : [[field, checked(() => readLimit(flag, text))] as const]
  })
  if (faults.length > 0) throw new AppError('invalid-request', faults.join('\n'))
  const key = await made.add({
    scopes: scope.filter(isScope),
    ...given({ name, group, expiresAt }),
    ...(models !== undefined && { models: [...models] }),
    ...(tools !== undefined && { tools: [...tools] }),
    ...Object.fromEntries(limits),
  })
  console.log(key)
  console.error('This key is shown only once; only its hash is stored. Servers that ask for keys accept it immediately.')
}

/** Prints the keys as a table, by id, without the secrets. */
export function listKeys(made: MadeKeys): void {
  const rows = made
    .list()
    .map((key) => [
      keyId(key),
      key.name ?? '-',
      key.scopes.join(', '),
      key.models?.join(', ') ?? 'all',
      toolsOf(key),
      limitsOf(key),
      key.group ?? '-',
      minutesOf(key.expiresAt),
      key.createdAt?.slice(0, 10) ?? '-',
      minutesOf(key.lastUsedAt),
    ])
  console.log(
    formatTable(['ID', 'NAME', 'SCOPES', 'MODELS', 'TOOLS', 'LIMITS', 'GROUP', 'EXPIRES', 'CREATED', 'LAST USED'], rows),
  )
  if (rows.length === 0) console.error(`no key was made here yet: \`${commandName} keys new\` makes one`)
}

/** The server's tools that a key may use. */
function toolsOf({ scopes, tools }: StoredKey): string {
  return scopes.includes('tools') || scopes.includes('admin') ? (tools?.join(', ') ?? 'all') : 'none'
}

/** Limits in the form of their flags, such as `20 rpm, 1000000 tpd`. */
function limitsOf(key: StoredKey): string {
  return limitFlags.flatMap(([flag, field]) => (key[field] === undefined ? [] : [`${key[field]} ${flag}`])).join(', ') || '-'
}

/** Deletes a key; running servers refuse it immediately. */
export async function deleteKey(made: MadeKeys, idOrName: string): Promise<void> {
  console.error(`deleted ${keyId(await made.remove(idOrName))}`)
}

function readLimit(flag: string, text: string): number {
  if (/^[1-9]\d{0,11}$/.test(text)) return Number(text)
  throw new AppError('invalid-request', `--${flag}: '${text}' is not a limit; give a whole number, at least 1`)
}

/** A time in UTC, as `2030-12-31 18:00`. */
function minutesOf(time: string | undefined): string {
  return time === undefined ? '-' : time.slice(0, 16).replace('T', ' ')
}

function checkName(name: string, taken: readonly string[]): void {
  if (taken.includes(name)) {
    throw new AppError('invalid-request', `--name: a key of the configuration is called '${name}'; choose another name`)
  }
  if (keyName.test(name)) return
  const rule = "1 to 64 letters, digits, '.', '_' and '-', other than 'anyone' and 'key-' with 8 hexadecimal digits"
  throw new AppError('invalid-request', `--name: '${name}' cannot be the name of a key; give ${rule}`)
}

function checkScope(scope: string): void {
  if (isScope(scope)) return
  throw new AppError('invalid-request', `--scope: '${scope}' is not a scope; it is one of: ${keyScopes.join(', ')}`)
}

function isScope(scope: string): scope is StoredKey['scopes'][number] {
  return (keyScopes as readonly string[]).includes(scope)
}

const unitsMs: ReadonlyMap<string, number> = new Map([
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

/** The time in UTC for `30d`, `12h`, `90m`, a date or a time. Throws `invalid-request`, also for one in the past. */
export function readExpiry(text: string, nowMs: number): string {
  const [, number = '', unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const unitMs = unitsMs.get(unit)
  const endMs = unitMs === undefined ? parseDate(text) : nowMs + Number(number) * unitMs
  if (endMs === undefined) {
    throw new AppError('invalid-request', `--expires: '${text}' is not a time; write it as 30d, 12h, 90m or 2030-12-31`)
  }
  if (endMs <= nowMs) throw new AppError('invalid-request', `--expires: '${text}' has passed; give a later time`)
  return new Date(endMs).toISOString()
}

/** A date stands for its beginning in UTC. */
function parseDate(text: string): number | undefined {
  const time = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
