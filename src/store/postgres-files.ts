import { type Kysely, sql } from 'kysely'
import { AppError } from '../contract/errors.ts'
import type { FilePlace, StoredFile } from '../contract/file-store.ts'
import type { Tables } from './tables.ts'

/** The size of a row, which is copied several times in memory while it is read and written. */
const pieceBytes = 1024 * 1024

/** Files in rows of pieces. */
export function createPostgresFiles(db: Kysely<Tables>): FilePlace {
  const kept = (owner: string) => db.selectFrom('files').where('owner', '=', owner).where('json', 'is not', null)
  return {
    async write(owner, id, bytes) {
      await db.insertInto('files').values({ id, owner, created_at: Date.now(), json: null }).execute()
      let position = 0
      for await (const piece of inPieces(bytes)) {
        await db.insertInto('file_pieces').values({ file_id: id, position, bytes: piece }).execute()
        position += 1
      }
    },
    async keep(owner, file) {
      const query = db.updateTable('files').set({ created_at: file.createdAtMs, json: JSON.stringify(file) })
      await query.where('id', '=', file.id).where('owner', '=', owner).execute()
    },
    async list(owner) {
      return (await kept(owner).select('json').execute()).map(read)
    },
    async get(owner, id) {
      const row = await kept(owner).select('json').where('id', '=', id).executeTakeFirst()
      return row && read(row)
    },
    async *content(owner, id) {
      const piece = kept(owner).innerJoin('file_pieces', 'file_id', 'id').select('bytes').where('id', '=', id)
      let missing = (await this.get(owner, id))?.sizeBytes ?? 0
      for (let position = 0; missing > 0; position += 1) {
        const row = await piece.where('position', '=', position).executeTakeFirst()
        if (row === undefined) throw new AppError('not-found', 'the file was deleted while it was read')
        missing -= row.bytes.length
        yield row.bytes
      }
    },
    async remove(owner, id) {
      await db.deleteFrom('files').where('id', '=', id).where('owner', '=', owner).execute()
    },
    async removeAbandoned(owner, beforeMs) {
      const unkept = db.deleteFrom('files').where('owner', '=', owner).where('json', 'is', null)
      await unkept.where('created_at', '<', beforeMs).execute()
    },
    async removeExpired(nowMs) {
      const expiry = sql<number>`cast(cast(json as json) ->> 'expiresAtMs' as bigint)`
      await db.deleteFrom('files').where(expiry, '<=', nowMs).execute()
    },
  }
}

function read({ json }: { readonly json: string | null }): StoredFile {
  return JSON.parse(json ?? '') as StoredFile
}

/** The same bytes in pieces of at least this size, and one with the rest. */
async function* inPieces(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  for await (const some of bytes) {
    waiting.push(some)
    waitingBytes += some.length
    if (waitingBytes < pieceBytes) continue
    yield Buffer.concat(waiting)
    waiting = []
    waitingBytes = 0
  }
  if (waitingBytes > 0) yield Buffer.concat(waiting)
}
