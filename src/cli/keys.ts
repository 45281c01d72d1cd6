import { type ApiKeyFile, keyId, keyScopes, type StoredKey } from '../app/api-key-file.ts'
import { AppError } from '../contract/errors.ts'
import { formatTable } from './table.ts'

type NewKeyFlags = { readonly name?: string | undefined; readonly scopes?: readonly string[] | undefined }

/** Makes a key. Standard output gets the key and nothing else, for `export DRAGOMAN_API_KEY="$(dragoman keys new)"`. */
export async function newKey(file: ApiKeyFile, { name, scopes = ['inference'] }: NewKeyFlags): Promise<void> {
  const unknown = scopes.find((scope) => !isScope(scope))
  if (unknown !== undefined) {
    throw new AppError('invalid-request', `--scope: '${unknown}' is not a scope; it is one of: ${keyScopes.join(', ')}`)
  }
  console.log(await file.add({ scopes: scopes.filter(isScope), ...(name !== undefined && { name }) }))
  console.error('This key is shown only once; only its hash is stored. Running servers accept it at once.')
}

/** Prints the keys as a table: their ids, never the keys. */
export function listKeys(file: ApiKeyFile): void {
  const rows = file.list().map((key) => [keyId(key), key.name ?? '-', key.scopes.join(', '), key.createdAt?.slice(0, 10) ?? '-'])
  console.log(formatTable(['ID', 'NAME', 'SCOPES', 'CREATED'], rows))
}

/** Deletes a key; running servers refuse it at once. */
export async function deleteKey(file: ApiKeyFile, idOrName: string): Promise<void> {
  console.error(`deleted ${keyId(await file.remove(idOrName))}`)
}

function isScope(scope: string): scope is StoredKey['scopes'][number] {
  return (keyScopes as readonly string[]).includes(scope)
}
