import { type CodeKind, codeKinds, kindOf } from './kinds.ts'

/** Pairs of a length and an index of `codeKinds`; the lengths add up to that of the code. */
export type Runs = Uint32Array

/**
 * Takes the tokens of highlight.js in place of its own emitter, which writes HTML. The option for it (`__emitter`) is not documented: a test
 * compares what comes with the code.
 */
export class RunEmitter {
  readonly #pairs: number[] = []
  readonly #kinds: CodeKind[] = ['plain']

  get runs(): Runs {
    return Uint32Array.from(this.#pairs)
  }

  addText(text: string): void {
    this.#add(text.length, codeKinds.indexOf(this.#kinds.at(-1) ?? 'plain'))
  }

  openNode(scope: string): void {
    this.#kinds.push(kindOf(scope) ?? this.#kinds.at(-1) ?? 'plain')
  }

  closeNode(): void {
    this.#kinds.pop()
  }

  startScope(scope: string): void {
    this.openNode(scope)
  }

  endScope(): void {
    this.closeNode()
  }

  __addSublanguage({ runs }: RunEmitter): void {
    for (let at = 0; at < runs.length; at += 2) this.#add(runs[at] ?? 0, runs[at + 1] ?? 0)
  }

  finalize(): void {
    // Scopes that are still open have no part in the runs.
  }

  toHTML(): string {
    return ''
  }

  #add(length: number, kind: number): void {
    if (length === 0) return
    const last = this.#pairs.length - 2
    if (this.#pairs[last + 1] === kind) this.#pairs[last] = (this.#pairs[last] ?? 0) + length
    else this.#pairs.push(length, kind)
  }
}
