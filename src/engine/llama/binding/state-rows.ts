/** A part of a state that has one row for each token, in order. */
export type Rows = { readonly at: number; readonly rowBytes: number }

/** llama.cpp begins a state with a number and the sequence. */
const headerBytes = 8
/** A cell: its position, how many sequences have it, perhaps its place in a grid, perhaps with its token, and the sequence. */
const cellBytes = [12, 20, 24]
/** As many sequences as a context of llama.cpp has (`LLAMA_MAX_SEQ`). */
const mostStreams = 256
/** More than `enum ggml_type` has. */
const mostTypes = 64

/**
 * Where caches of attention keep the rows of a sequence's tokens; what else there is (windows, recurrent layers, compressed caches) has none.
 * Clears the number of the sequence, which llama.cpp does not read, so that equal tokens have equal rows.
 */
export function findRows(state: Uint8Array, tokens: number): readonly Rows[] {
  const view = new DataView(state.buffer, state.byteOffset, state.byteLength)
  const found: Rows[] = []
  let at: number | undefined = headerBytes
  while (at !== undefined) {
    const cache = readCache(view, at)
    if (cache !== undefined && cache.cells === tokens) {
      found.push(...cache.rows)
      clearSequences(view, cache)
    }
    at = cache?.end
  }
  return found
}

type Cache = { readonly cells: number; readonly start: number; readonly rows: readonly Rows[]; readonly end: number }

/** A cache, as `llama_kv_cache::state_write` writes it: each slot is a stream, and one of them has cells. Undefined: it is something else. */
function readCache(view: DataView, start: number): Cache | undefined {
  const streams = numberAt(view, start) ?? 0
  if (streams > mostStreams) return undefined
  let before = 0
  while (before < streams && numberAt(view, start + 4 + 4 * before) === 0) before += 1
  const cells = before < streams ? numberAt(view, start + 4 + 4 * before) : undefined
  if (cells === undefined) return undefined
  const first = start + 8 + 4 * before
  const rowBytes = cellBytes.find((bytes) => areCells(view, { at: first, rowBytes: bytes }, cells))
  if (rowBytes === undefined) return undefined
  const rows = [{ at: first, rowBytes }]
  let at = first + cells * rowBytes
  const [transposed, layers] = [numberAt(view, at), numberAt(view, at + 4)]
  if ((transposed !== 0 && transposed !== 1) || layers === undefined) return undefined
  at += 8
  for (let layer = 0; layer < layers; layer++) {
    const keys = readLayer(view, at, cells, false)
    if (keys === undefined) return undefined
    rows.push(...keys.rows)
    at = keys.end
  }
  // Latent attention has keys only.
  for (let layer = 0; layer < layers; layer++) {
    const values = readLayer(view, at, cells, transposed === 1)
    if (values === undefined) break
    rows.push(...values.rows)
    at = values.end
  }
  for (let after = before + 1; after < streams; after++, at += 4) if (numberAt(view, at) !== 0) return undefined
  return { cells, start: first, rows, end: at }
}

/** Keys or values of a layer: transposed, one number of all tokens after the other. */
function readLayer(view: DataView, at: number, cells: number, isTransposed: boolean) {
  const [type, rowBytes, upper] = [numberAt(view, at), numberAt(view, at + 4), numberAt(view, at + 8)]
  if (type === undefined || type >= mostTypes || rowBytes === undefined || rowBytes === 0 || upper === undefined) return undefined
  if (!isTransposed && upper !== 0) return undefined
  const count = isTransposed ? upper : 1
  const first = at + 12
  const end = first + count * cells * rowBytes
  if (end > view.byteLength) return undefined
  return { rows: Array.from({ length: count }, (_, index) => ({ at: first + index * cells * rowBytes, rowBytes })), end }
}

/** Whether these are cells of this sequence alone, in order. */
function areCells(view: DataView, { at, rowBytes }: Rows, cells: number): boolean {
  const sequence = numberAt(view, 4)
  let before = 0
  for (let cell = 0; cell < cells; cell++) {
    const row = at + cell * rowBytes
    const position = numberAt(view, row) ?? -1
    if (position < before || numberAt(view, row + 4) !== 1 || numberAt(view, row + rowBytes - 4) !== sequence) return false
    before = position
  }
  return true
}

function clearSequences(view: DataView, { start, cells, rows: [meta] }: Cache): void {
  const { rowBytes = 0 } = meta ?? {}
  for (let cell = 1; cell <= cells; cell++) view.setUint32(start + cell * rowBytes - 4, 0, true)
}

function numberAt(view: DataView, at: number): number | undefined {
  return at + 4 <= view.byteLength ? view.getUint32(at, true) : undefined
}
