package io.phantoms.spark.source.export;

/** What the options of a template are said of, as far as that decides for whom a sampling interval holds. */
enum OptionScope {
  /** The exporter, or the observation domain. */
  SYSTEM,
  /** Something else, above all an interface or a sampler, which records name. */
  NAMED,
  /** A part that records do not name: a line card, a cache, a template, the interface on which packets go out. */
  PART;

  private static final int V9_SYSTEM = 1;
  private static final int V9_INTERFACE = 2;

  private static final int EGRESS_INTERFACE = 14;
  private static final int EGRESS_PHYSICAL_INTERFACE = 253;

  /** @param scopes how many of the first fields are scopes */
  static OptionScope of(int version, Template.Fields fields, int scopes) {
    OptionScope all = SYSTEM;
    for (int i = 0; i < fields.elements().length; i++) {
      OptionScope one = i >= scopes ? ofField(fields.enterprises()[i], fields.elements()[i])
          : version == 9 ? ofV9(fields.elements()[i]) : ofIpfix(fields.enterprises()[i], fields.elements()[i]);
      all = one.compareTo(all) > 0 ? one : all;
    }
    return all;
  }

  private static OptionScope ofV9(int scope) {
    return scope == V9_SYSTEM ? SYSTEM : scope == V9_INTERFACE ? NAMED : PART;
  }

  private static OptionScope ofIpfix(long enterprise, int element) {
    if (enterprise != 0) {
      return PART;
    }
    switch (element) {
      case 143: // meteringProcessId
      case 144: // exportingProcessId
      case 149: // observationDomainId
        return SYSTEM;
      case 138: // observationPointId
      case 141: // lineCardId
      case 142: // portId
      case 145: // templateId
      case 148: // flowId
      case EGRESS_INTERFACE:
      case EGRESS_PHYSICAL_INTERFACE:
        return PART;
      default:
        return NAMED;
    }
  }

  /** Fields that are no scopes narrow what the others say, too, where they name an interface. */
  private static OptionScope ofField(long enterprise, int element) {
    return enterprise == 0 && (element == EGRESS_INTERFACE || element == EGRESS_PHYSICAL_INTERFACE) ? PART : SYSTEM;
  }
}
