type OpenCall = { readonly id: string; readonly name: string }

/**
 * The ids of calls and their results, in the order of a conversation. Clients of servers without ids omit them; the ids generated here
 * depend only on the position, so that the same history gives the same prompt.
 */
export class CallIds {
  /** Calls since the user's last turn that have no result yet. */
  #open: OpenCall[] = []

  /** A user's turn begins: earlier calls are not answered any more. */
  endTurn(): void {
    this.#open = []
  }

  /** The id of a call; a generated one if it is missing. */
  ofCall(call: { readonly id?: string | null | undefined; readonly name: string }, made: string): string {
    const id = isId(call.id) ? call.id : made
    this.#open.push({ id, name: call.name })
    return id
  }

  /**
   * The id of a result. Without one, it answers the first open call of its name, or else the first open call; without an open call, a
   * generated id.
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
