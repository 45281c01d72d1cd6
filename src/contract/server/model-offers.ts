export type OfferedAbility = 'vision' | 'thinking' | 'tools' | 'embedding'

/** A model of the catalogue, which a load fetches by its name. */
export type OfferedModel = {
  readonly name: string
  readonly title: string
  /** About that of the file which is usually taken. */
  readonly sizeBytes: number
  /** The context that it was trained for, in tokens. */
  readonly trained: number
  readonly abilities: readonly OfferedAbility[]
  /** It leaves enough of the memory of this machine. */
  readonly fits: boolean
  /** The most able model that runs at reading speed here. */
  readonly isProposed: boolean
}

/** A repository of Hugging Face with GGUF files. */
export type OfferedRepository = {
  readonly name: string
  readonly downloads: number
  readonly likes: number
  readonly abilities: readonly OfferedAbility[]
}

/** The models that this server can fetch. */
export type ModelOffers = {
  readonly models: readonly OfferedModel[]
  /** Found by a search for a text. */
  readonly repositories: readonly OfferedRepository[]
  /** Why Hugging Face was not searched. */
  readonly problem?: string
}

/** Finds models to fetch, by a part of their names; an empty text finds the catalogue. */
export type FindOffers = (search: string) => Promise<ModelOffers>
