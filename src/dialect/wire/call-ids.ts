type OpenCall = { readonly id: string; readonly name: string }

/**
 * The ids of calls and their results, in the order of a conversation. Clients of servers without ids leave them out; the ids made here
 * depend on the position only, so that the same history gives the same prompt.
 */
export class CallIds {
  /** Calls since the last turn of the user's that have no result yet. */
  #open: OpenCall[] = []

  /** The user speaks: calls before it are not answered any more. */
  endTurn(): void {
    this.#open = []
  }

  /** The id of a call; `made` if it has none. */
  ofCall(call: { readonly id?: string | null | undefined; readonly name: string }, made: string): string {
    const id = isId(call.id) ? call.id : made
    this.#open.push({ id, name: call.name })
    return id
  }

  /**
   * The id of a result. One without an id answers the first open call of its name, or else the first open call; `made` if there is none.
   */
  ofResult(result: { readonly id?: string | null | undefined; readonly name?: string | null | undefined }, made: string): string {
    const { id, name } = result
    const named = this.#open.find((call) => (isId(id) ? call.id === id : call.name === name))
    const answered = named ?? (isId(id) ? undefined : this.#open[0])
    if (answered !== undefined) this.#open.splice(this.#open.indexOf(answered), 1)
    return isId(id) ? id : (answered?.id ?? made)
  }
}

function isId(id: string | null | undefined): id is string {
  return id !== undefined && id !== null && id !== ''
}
