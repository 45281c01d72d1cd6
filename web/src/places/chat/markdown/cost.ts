const longestBlock = 8000
const mostSigns = 1000
const signs = /[*_~>[\]`<\\!#\n-]|\+(?=\s)|\d[.)](?=\s)/g

/**
 * Whether a block is read as Markdown in little time. The time grows with the square of the signs that may begin or end something, and of
 * the lines. Few texts have a thousand in one block, but a model can write anything.
 */
export function isCheap(block: string): boolean {
  return block.length <= longestBlock && (block.match(signs)?.length ?? 0) <= mostSigns
}
