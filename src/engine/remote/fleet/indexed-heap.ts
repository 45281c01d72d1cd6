/** A binary heap whose items can be moved and removed. Adding, moving and removing take a logarithmic number of comparisons. */
export class IndexedHeap<Item> {
  readonly #isBefore: (a: Item, b: Item) => boolean
  readonly #items: Item[] = []
  readonly #places = new Map<Item, number>()

  constructor(isBefore: (a: Item, b: Item) => boolean) {
    this.#isBefore = isBefore
  }

  get size(): number {
    return this.#items.length
  }

  get first(): Item | undefined {
    return this.#items[0]
  }

  /** Adds the item, or moves it after its order has changed. */
  put(item: Item): void {
    let place = this.#places.get(item)
    if (place === undefined) {
      place = this.#items.length
      this.#set(place, item)
    }
    this.#sink(this.#rise(place, item), item)
  }

  remove(item: Item): void {
    const place = this.#places.get(item)
    if (place === undefined) return
    this.#places.delete(item)
    const last = this.#items.pop() as Item
    if (last === item) return
    this.#set(place, last)
    this.#sink(this.#rise(place, last), last)
  }

  /** The first item in order that fits. Visits only items that do not fit and their successors. */
  firstWhere(fits: (item: Item) => boolean): Item | undefined {
    const { first } = this
    if (first === undefined || fits(first)) return first
    const items = this.#items
    const before = this.#isBefore
    const reached = new IndexedHeap<number>((a, b) => before(items[a] as Item, items[b] as Item))
    for (let place = 0; ; ) {
      for (const child of [2 * place + 1, 2 * place + 2]) if (child < items.length) reached.put(child)
      const next = reached.first
      if (next === undefined) return undefined
      const item = items[next] as Item
      if (fits(item)) return item
      reached.remove(next)
      place = next
    }
  }

  #rise(from: number, item: Item): number {
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = this.#items[parent] as Item
      if (!this.#isBefore(item, above)) break
      this.#set(place, above)
      place = parent
    }
    this.#set(place, item)
    return place
  }

  #sink(from: number, item: Item): void {
    const { length } = this.#items
    let place = from
    while (true) {
      let child = 2 * place + 1
      if (child >= length) break
      const right = child + 1
      if (right < length && this.#isBefore(this.#items[right] as Item, this.#items[child] as Item)) child = right
      const below = this.#items[child] as Item
      if (!this.#isBefore(below, item)) break
      this.#set(place, below)
      place = child
    }
    this.#set(place, item)
  }

  #set(place: number, item: Item): void {
    this.#items[place] = item
    this.#places.set(item, place)
  }
}
